/** Telemetry on every runtime: observation, metrics, logs and the endpoint that serves metrics. */
import { circuitBreaker, pipeline, retry } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { inMemoryMetrics, logger, metricsEndpoint, observe } from 'yaoki/telemetry'
import { isTrue, same } from './checks.js'
import { story } from './stories.js'

const FAST = { baseDelayMs: 0, maxDelayMs: 0, maxRetries: 2 }

/** Fails the given number of times, then returns. */
function failing(times) {
	let left = times
	return async () => {
		if (left-- > 0) throw new Error('down')
		return 'ok'
	}
}

export const tests = {
	async 'answers the five questions of an operator'() {
		const metrics = inMemoryMetrics()
		const payments = pipeline(circuitBreaker(), retry(FAST))
		const stop = observe({ payments }, [metrics])
		await payments.execute(failing(0))
		await payments.execute(failing(2))
		await payments.execute(failing(9)).catch(() => {})
		stop()
		await payments.execute(failing(1))
		const { calls, retriedCalls, retries, retrySuccessRate } = metrics.snapshot().services.payments
		same([calls, retriedCalls, retries, retrySuccessRate].join(), '3,2,4,0.5')
	},

	async 'names a service after the host of a request'({ apiUrl }) {
		const metrics = inMemoryMetrics()
		const fetch = resilientFetch(FAST)
		const stop = observe({ fetch }, [metrics])
		await (await fetch(story(apiUrl, '503,200').url)).text()
		stop()
		same(Object.keys(metrics.snapshot().services).join(), new URL(apiUrl).host)
	},

	async 'serves metrics as a fetch handler'() {
		const metrics = inMemoryMetrics()
		const payments = retry(FAST)
		const stop = observe({ payments }, [metrics])
		await payments.execute(failing(1))
		const response = await metricsEndpoint(metrics).fetch(new Request('https://shop.example.com/metrics'))
		const text = await response.text()
		isTrue(text.includes('yaoki_calls_total{service="payments",outcome="success"} 1'), text)
		stop()
	},

	async 'writes the fields of an event to a logger'() {
		const lines = []
		const add = (fields, message) => lines.push({ fields, message })
		const payments = retry(FAST)
		const stop = observe({ payments }, [logger({ debug: add, info: add, warn: add, error: add })])
		await payments.execute(failing(1))
		stop()
		same(lines[0]?.fields.event, 'retry_attempt')
		same(lines[0]?.fields.errorMessage, 'down')
	},

	async 'runs spans around calls and attempts'() {
		const seen = []
		const spans = {
			name: 'spans',
			attach: () => ({
				around(info, next) {
					seen.push(info.type)
					return next()
				},
			}),
		}
		const payments = pipeline(retry(FAST))
		const stop = observe({ payments }, [spans])
		same(await payments.execute(failing(1)), 'ok')
		stop()
		same(seen.join(), 'call,attempt,attempt')
	},
}
