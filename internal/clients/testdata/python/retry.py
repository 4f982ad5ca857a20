"""Sends GETs to URL?n=0 to URL?n=COUNT-1, all at once, and prints how many were served: retry.py URL COUNT"""
import sys
from concurrent.futures import ThreadPoolExecutor

import urllib3

retry = urllib3.util.Retry(
    total=10,
    status=10,
    connect=0,
    read=0,
    allowed_methods=None,  # any: what is refused has not been done
    raise_on_status=False,
)
pool = urllib3.PoolManager(retries=retry, maxsize=20)


def get(n):
    return pool.request("GET", f"{sys.argv[1]}?n={n}").status


with ThreadPoolExecutor(20) as threads:
    print(sum(status == 200 for status in threads.map(get, range(int(sys.argv[2])))))
