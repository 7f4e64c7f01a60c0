"""The page The paper."""
