"""The layer norm of tokens fused with its inputs: statistics, bias, residual, pooled planes."""
