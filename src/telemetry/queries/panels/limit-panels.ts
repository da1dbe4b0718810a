import { gauge, type Scope } from '../promql.ts'
import { type PanelGroup, query } from './panel.ts'

export const limits = (scope: Scope): PanelGroup => ({
	title: 'Circuits and limits',
	panels: [
		{
			title: 'Which circuits are open now?',
			description: 'The worst state of the circuits of all processes. Isolated circuits are shown as open.',
			kind: 'states',
			unit: 'count',
			queries: [query(gauge({ metric: 'circuit_breaker_state' }, scope))],
		},
		{
			title: 'How many circuits are in each state?',
			description: 'Over all processes and keys, such as origins.',
			kind: 'lines',
			unit: 'count',
			queries: [
				query(gauge({ metric: 'yaoki_circuit_breakers', by: ['state'] }, scope), '{{service}} {{state}}'),
				query(
					gauge({ metric: 'yaoki_circuit_breaker_isolated' }, scope),
					'{{service}} isolated by an operator',
				),
			],
		},
		{
			title: 'How full are the bulkheads?',
			description: 'Calls that hold a slot, calls in the queue, and the slots there are.',
			kind: 'lines',
			unit: 'count',
			queries: [
				query(gauge({ metric: 'yaoki_bulkhead_concurrent_calls' }, scope), '{{service}} running'),
				query(gauge({ metric: 'yaoki_bulkhead_queued_calls' }, scope), '{{service}} queued'),
				query(gauge({ metric: 'yaoki_bulkhead_max_concurrent_calls' }, scope), '{{service}} slots'),
			],
		},
		{
			title: 'How many retries does the budget still allow?',
			description: 'The process with the fewest. At 0, failed calls are not retried.',
			kind: 'lines',
			unit: 'count',
			queries: [query(gauge({ metric: 'yaoki_retry_budget_available_retries' }, scope))],
		},
		{
			title: 'How many calls do the rate limiters admit now?',
			description: 'The process with the fewest tokens.',
			kind: 'lines',
			unit: 'count',
			queries: [query(gauge({ metric: 'yaoki_rate_limiter_available_tokens' }, scope))],
		},
		{
			title: 'How many calls do the adaptive throttles reject?',
			description: 'The process that rejects most.',
			kind: 'lines',
			unit: 'share',
			queries: [query(gauge({ metric: 'yaoki_throttle_reject_ratio' }, scope))],
		},
		{
			title: 'How many HTTP requests are in flight?',
			description: 'Requests that wait for the headers of their response.',
			kind: 'lines',
			unit: 'count',
			queries: [query(gauge({ metric: 'yaoki_http_in_flight_requests' }, scope))],
		},
		{
			title: 'Which servers have asked for a pause?',
			description: 'Rest of the pause of Retry-After or RateLimit headers.',
			kind: 'lines',
			unit: 'seconds',
			queries: [query(gauge({ metric: 'yaoki_http_paused_seconds' }, scope))],
		},
	],
})
