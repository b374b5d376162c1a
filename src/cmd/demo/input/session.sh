#!/bin/sh
# How many idle minutes a session survives.
idle_minutes=30
