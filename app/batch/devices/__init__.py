"""Runs that several devices of one machine share: a process per device takes work from one list."""
