import { named, quantile, rate, ratio, type Scope } from '../promql.ts'
import { type PanelGroup, query } from './panel.ts'

const CALLS = { metric: 'yaoki_calls_total' }
const DURATION = { metric: 'yaoki_call_duration_seconds' }
const RETRY_DURATION = { metric: 'http_client_retry_duration_seconds', by: ['result'] }

export const calls = (scope: Scope): PanelGroup => ({
	title: 'Calls',
	panels: [
		{
			title: 'How do calls end?',
			description: 'Calls per second by outcome.',
			kind: 'lines',
			unit: 'per-second',
			queries: [query(rate({ ...CALLS, by: ['outcome'] }, scope), '{{service}} {{outcome}}')],
		},
		{
			title: 'How long do calls take?',
			description: 'p50 and p99 of whole calls, waits and retries included.',
			kind: 'lines',
			unit: 'seconds',
			queries: [
				query(quantile(0.5, DURATION, scope), '{{service}} p50'),
				query(quantile(0.99, DURATION, scope), '{{service}} p99'),
			],
		},
		{
			title: 'Which calls are rejected, and why?',
			description: 'Calls per second that a policy rejected without running the operation.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					rate({ metric: 'yaoki_rejected_calls_total', by: ['reason'] }, scope),
					'{{service}} {{reason}}',
				),
			],
		},
		{
			title: 'How much load do retries and hedges add?',
			description: 'Attempts per call. 1 means no additional load; below 1 calls are rejected.',
			kind: 'lines',
			unit: 'count',
			queries: [query(ratio(rate({ metric: 'yaoki_attempts_total' }, scope), rate(CALLS, scope)))],
		},
		{
			title: 'Why are failed calls not retried again?',
			description: 'Failed calls per second by the reason that stopped their retries.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					rate({ metric: 'yaoki_retries_stopped_total', by: ['reason'] }, scope),
					'{{service}} {{reason}}',
				),
			],
		},
		{
			title: 'Which responses cause HTTP retries?',
			description: 'Retries per second by status and method; "network" without a response.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					rate({ metric: 'http_client_retries_total', by: ['status', 'method'] }, scope),
					'{{service}} {{method}} {{status}}',
				),
			],
		},
		{
			title: 'How long do retried HTTP requests take?',
			description: 'p50 and p99 of requests with at least one retry, by result.',
			kind: 'lines',
			unit: 'seconds',
			queries: [
				query(quantile(0.5, RETRY_DURATION, scope), '{{service}} {{result}} p50'),
				query(quantile(0.99, RETRY_DURATION, scope), '{{service}} {{result}} p99'),
			],
		},
		{
			title: 'How often do timeouts, deadlines, hedges and fallbacks act?',
			description: 'Events per second.',
			kind: 'lines',
			unit: 'per-second',
			queries: [
				query(
					named({
						timeout: rate({ metric: 'yaoki_timeouts_total' }, scope),
						'deadline exceeded': rate({ metric: 'yaoki_deadlines_exceeded_total' }, scope),
						fallback: rate({ metric: 'yaoki_fallbacks_total' }, scope),
					}),
					'{{service}} {{kind}}',
				),
				query(
					rate({ metric: 'yaoki_hedges_total', by: ['outcome'] }, scope),
					'{{service}} hedge {{outcome}}',
				),
			],
		},
	],
})
