//! False discovery rate. Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal
//! Statistical Society B 57 (1995).

/// Returns for each p-value the smallest false discovery rate at which it is a discovery.
pub(super) fn q_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut q_values = vec![1.0; p_values.len()];
    let mut lowest = 1.0f64;
    for (above, index) in order.into_iter().enumerate() {
        let rank = (p_values.len() - above) as f64;
        lowest = lowest.min(p_values[index] * p_values.len() as f64 / rank);
        q_values[index] = lowest;
    }
    q_values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_paper() {
        // Table 1 of the paper: at 5 %, the first four of 15 are discoveries.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let found = q_values(&p_values);
        assert_eq!(found.iter().filter(|q| **q <= 0.05).count(), 4);
        assert!(found.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!((found[0] - 0.0015).abs() < 1e-12 && (found[14] - 1.0).abs() < 1e-12);
        assert!(q_values(&[]).is_empty());
    }
}
