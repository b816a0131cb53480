"""Norms over tokens and pooled planes."""
