# Remove what no job reads: sh trim.sh ROOT. Packages stay known to apt and can be added to later.
set -e
root=${1%/}
rm -rf "$root"/var/cache/apt/* "$root"/var/cache/debconf/*-old "$root"/var/lib/apt/lists/* \
    "$root"/var/log/* "$root"/usr/share/doc/* "$root"/usr/share/info/* \
    "$root"/usr/share/locale/* "$root"/usr/share/man/*
find "$root"/usr/lib/python3/dist-packages -type d -name tests -prune -exec rm -rf {} +
