// Sends GETs to URL?n=0 to URL?n=COUNT-1, all at once, and prints how many were served: retry.mjs URL COUNT
import axios from 'axios';
import axiosRetry, { exponentialDelay } from 'axios-retry';

const [url, count] = process.argv.slice(2);

const client = axios.create();
axiosRetry(client, {
  retries: 10,
  retryDelay: exponentialDelay, // at least Retry-After, and up to a fifth more
  retryCondition: ({ response }) => [429, 503].includes(response?.status) && 'retry-after' in response.headers,
});

const answers = await Promise.allSettled(Array.from({ length: count }, (_, n) => client.get(`${url}?n=${n}`)));
console.log(answers.filter((a) => a.value?.status === 200).length);
