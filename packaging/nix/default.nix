# For a release: scripts/release-check.sh fills in the values between @ signs, and `nix-build` of the result builds the source archive.
{ pkgs ? import <nixpkgs> { }
, src ? pkgs.fetchzip {
    url = "@REPOSITORY@/releases/download/v@VERSION@/fathom-@VERSION@-source.tar.gz";
    sha256 = "@SHA256_UNPACKED@";
  }
}:

pkgs.rustPlatform.buildRustPackage {
  pname = "fathom";
  version = "@VERSION@";
  inherit src;

  # Every crate, with its checksum.
  cargoLock.lockFile = "${src}/Cargo.lock";
  cargoBuildFlags = [ "--package" "fathom-io" "--features" "libhdfs" ];
  env.FATHOM_VERSION = "@VERSION@";

  # The tests want devices, servers and root: `make test` in a clone runs them.
  doCheck = false;

  postInstall = ''
    sh packaging/install.sh "$out/bin/fathom" "$out/papers"
    rm -r "$out/papers/bin"
    cp -r "$out/papers/." "$out"
    rm -r "$out/papers"
  '';

  meta = {
    description = "I/O tester that runs every fio job";
    homepage = "@REPOSITORY@";
    license = with pkgs.lib.licenses; [ mit asl20 ];
    mainProgram = "fathom";
    platforms = [ "x86_64-linux" "aarch64-linux" ];
  };
}
