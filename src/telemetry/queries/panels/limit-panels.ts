import { gauge, type Scope } from '../promql.ts'
import { lines, type PanelGroup, states } from './panel.ts'

export const limits = (scope: Scope): PanelGroup => ({
	title: 'Circuits and limits',
	panels: [
		states(
			'Which circuits are open now?',
			'The worst state of the circuits of all processes. Isolated circuits are shown as open.',
			'count',
			gauge({ metric: 'circuit_breaker_state' }, scope),
		),
		lines('How many circuits are in each state?', 'Over all processes and keys, such as origins.', 'count', {
			'{{service}} {{state}}': gauge({ metric: 'yaoki_circuit_breakers', by: ['state'] }, scope),
			'{{service}} isolated by an operator': gauge({ metric: 'yaoki_circuit_breaker_isolated' }, scope),
		}),
		lines(
			'How full are the bulkheads?',
			'Calls that hold a slot, calls in the queue, and the slots there are.',
			'count',
			{
				'{{service}} running': gauge({ metric: 'yaoki_bulkhead_concurrent_calls' }, scope),
				'{{service}} queued': gauge({ metric: 'yaoki_bulkhead_queued_calls' }, scope),
				'{{service}} slots': gauge({ metric: 'yaoki_bulkhead_max_concurrent_calls' }, scope),
			},
		),
		lines(
			'How many retries does the budget still allow?',
			'The process with the fewest. At 0, failed calls are not retried.',
			'count',
			gauge({ metric: 'yaoki_retry_budget_available_retries' }, scope),
		),
		lines(
			'How many calls do the rate limiters admit now?',
			'The process with the fewest tokens.',
			'count',
			gauge({ metric: 'yaoki_rate_limiter_available_tokens' }, scope),
		),
		lines(
			'How many calls do the adaptive throttles reject?',
			'The process that rejects most.',
			'share',
			gauge({ metric: 'yaoki_throttle_reject_ratio' }, scope),
		),
		lines(
			'How many HTTP requests are in flight?',
			'Requests that wait for the headers of their response.',
			'count',
			gauge({ metric: 'yaoki_http_in_flight_requests' }, scope),
		),
		lines(
			'Which servers have asked for a pause?',
			'Rest of the pause of Retry-After or RateLimit headers.',
			'seconds',
			gauge({ metric: 'yaoki_http_paused_seconds' }, scope),
		),
	],
})
