/**
 * axios with retries and a circuit breaker, as the documentation of axios-retry and cockatiel combines them. What is not a default is listed in
 * `stacks.ts`, which the benchmark prints.
 */
import axios from 'axios'
import axiosRetry, { exponentialDelay, isRetryableError } from 'axios-retry'
import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel'
import { note } from '../../../test/shop/service.ts'

export interface Client {
	post<Body>(path: string, body: object, key: string): Promise<Body>
}

export function resilientAxios(baseURL: string): Client {
	const client = axios.create({ baseURL, timeout: 10_000 })
	axiosRetry(client, {
		retryDelay: exponentialDelay,
		// The default does not retry a POST. Every request here has an idempotency key.
		retryCondition: isRetryableError,
		shouldResetTimeout: true,
	})
	const breaker = circuitBreaker(handleAll, { halfOpenAfter: 1_000, breaker: new ConsecutiveBreaker(5) })
	breaker.onStateChange((state) => note(`circuit of ${baseURL}: ${CircuitState[state].toLowerCase()}`))
	return {
		async post(path, body, key) {
			const headers = { 'idempotency-key': key }
			return (await breaker.execute(({ signal }) => client.post(path, body, { headers, signal }))).data
		},
	}
}
