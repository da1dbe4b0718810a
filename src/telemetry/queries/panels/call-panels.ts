import { medianAndP99, named, rate, ratio, type Scope } from '../promql.ts'
import { lines, type PanelGroup } from './panel.ts'

const CALLS = { metric: 'yaoki_calls_total' }
const DURATION = { metric: 'yaoki_call_duration_seconds' }
const RETRY_DURATION = { metric: 'http_client_retry_duration_seconds', by: ['result'] }

export const calls = (scope: Scope): PanelGroup => ({
	title: 'Calls',
	panels: [
		lines('How do calls end?', 'Calls per second by outcome.', 'per-second', {
			'{{service}} {{outcome}}': rate({ ...CALLS, by: ['outcome'] }, scope),
		}),
		lines(
			'How long do calls take?',
			'p50 and p99 of whole calls, waits and retries included.',
			'seconds',
			medianAndP99(DURATION, scope),
		),
		lines(
			'Which calls are rejected, and why?',
			'Calls per second that a policy rejected without running the operation.',
			'per-second',
			{ '{{service}} {{reason}}': rate({ metric: 'yaoki_rejected_calls_total', by: ['reason'] }, scope) },
		),
		lines(
			'How much load do retries and hedges add?',
			'Attempts per call. 1 means no additional load; below 1 calls are rejected.',
			'count',
			ratio(rate({ metric: 'yaoki_attempts_total' }, scope), rate(CALLS, scope)),
		),
		lines(
			'Why are failed calls not retried again?',
			'Failed calls per second by the reason that stopped their retries.',
			'per-second',
			{ '{{service}} {{reason}}': rate({ metric: 'yaoki_retries_stopped_total', by: ['reason'] }, scope) },
		),
		lines(
			'Which responses cause HTTP retries?',
			'Retries per second by status and method; "network" without a response.',
			'per-second',
			{
				'{{service}} {{method}} {{status}}': rate(
					{ metric: 'http_client_retries_total', by: ['status', 'method'] },
					scope,
				),
			},
		),
		lines(
			'How long do retried HTTP requests take?',
			'p50 and p99 of requests with at least one retry, by result.',
			'seconds',
			medianAndP99(RETRY_DURATION, scope, '{{service}} {{result}}'),
		),
		lines('How often do timeouts, deadlines, hedges and fallbacks act?', 'Events per second.', 'per-second', {
			'{{service}} {{kind}}': named({
				timeout: rate({ metric: 'yaoki_timeouts_total' }, scope),
				'deadline exceeded': rate({ metric: 'yaoki_deadlines_exceeded_total' }, scope),
				fallback: rate({ metric: 'yaoki_fallbacks_total' }, scope),
			}),
			'{{service}} hedge {{outcome}}': rate({ metric: 'yaoki_hedges_total', by: ['outcome'] }, scope),
		}),
	],
})
