# Homebrew on Linux. scripts/release-check.sh fills in the values between @ signs.
class Fathom < Formula
  desc "I/O tester that runs every fio job"
  homepage "@REPOSITORY@"
  url "@REPOSITORY@/releases/download/v@VERSION@/fathom-@VERSION@-source.tar.gz"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    ENV["FATHOM_VERSION"] = version.to_s
    system "cargo", "install", "--features", "libhdfs", *std_cargo_args(path: "crates/fathom")
    system "packaging/install.sh", bin/"fathom", buildpath/"papers"
    bash_completion.install "papers/share/bash-completion/completions/fathom"
    zsh_completion.install "papers/share/zsh/site-functions/_fathom"
    fish_completion.install "papers/share/fish/vendor_completions.d/fathom.fish"
    man1.install "papers/share/man/man1/fathom.1"
    include.install "include/fathom_engine.h"
  end

  test do
    system bin/"fathom", "--name=check", "--size=1m", "--rw=randrw", "--verify=crc32c", "--verify_state_save=0"
    assert_match version.to_s, shell_output("#{bin}/fathom --version")
  end
end
