"""Measured logs: conversion of many file formats to recordings of a robot's coordinates."""
