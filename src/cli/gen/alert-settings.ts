/** The limits of the alert rules: options of `gen alerts`, defaults, and values of the rules. */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { type Arguments, integer, number, text } from '../option-tables.ts'
import { parseDuration } from '../outbox/parse-time.ts'

export const ALERT_OPTIONS = {
	// Below 95 %, an error rate of 100 % would not spend the error budget 14.4 times too fast: the first alert
	// could never fire.
	slo: number('PERCENT', 'share of calls that should succeed, such as 99.9: adds burn-rate alerts', {
		min: 95,
		max: 99.999,
	}),
	minCalls: integer('N', 'calls that a ratio needs; services with less traffic raise no such alert', {
		default: 20,
		min: 1,
	}),
	maxErrorPercent: number('PERCENT', 'share of calls that may fail or be rejected', {
		default: 5,
		min: 0,
		max: 99,
	}),
	maxRetryPercent: number('PERCENT', 'share of calls that may be retried', { default: 10, min: 0, max: 99 }),
	minRetrySuccessPercent: number('PERCENT', 'share of the retried calls that should succeed', {
		default: 50,
		min: 1,
		max: 100,
	}),
	maxRetriesPerCall: number('N', 'retries per call on average', { default: 0.5, min: 0 }),
	maxOpen: text('5m', 'how long a circuit may be open while it rejects calls', { default: '5m' }),
	minReopened: integer('N', 'failed probes of a circuit in 15 minutes that raise an alert', {
		default: 3,
		min: 1,
	}),
	maxIsolated: text('1h', 'how long a circuit may be isolated', { default: '1h' }),
	maxDeadLetters: integer('N', 'new dead letters of a destination in 15 minutes without an alert', {
		default: 0,
		min: 0,
	}),
	maxAge: text('1h', 'how long the oldest message may wait, retries included', { default: '1h' }),
	maxLag: text('5m', 'how late the oldest due message may be', { default: '5m' }),
	maxWithoutRelay: text('2m', 'how long messages may be due without a relay', { default: '2m' }),
	maxDisabledEndpoints: integer(
		'N',
		'endpoints of webhooks that failures may disable in 15 minutes without an alert',
		{
			default: 0,
			min: 0,
		},
	),
	maxEndpointFailing: text('1d', 'how long an endpoint of webhooks may fail', { default: '1d' }),
} as const

export type AlertSettings = ReturnType<typeof readAlertSettings>

/** Shares are from 0 to 1. Without `slo` there are no burn-rate alerts. */
export const readAlertSettings = (args: Arguments<typeof ALERT_OPTIONS>) => ({
	slo: args.slo === undefined ? undefined : share(args.slo),
	minCalls: args.minCalls,
	maxErrorRate: share(args.maxErrorPercent),
	maxRetryRate: share(args.maxRetryPercent),
	minRetrySuccess: share(args.minRetrySuccessPercent),
	maxRetriesPerCall: args.maxRetriesPerCall,
	openMs: parseDuration('--max-open', args.maxOpen),
	minReopened: args.minReopened,
	isolatedMs: parseDuration('--max-isolated', args.maxIsolated),
	maxDeadLetters: args.maxDeadLetters,
	ageMs: parseDuration('--max-age', args.maxAge),
	lagMs: parseDuration('--max-lag', args.maxLag),
	withoutRelayMs: parseDuration('--max-without-relay', args.maxWithoutRelay),
	maxDisabledEndpoints: args.maxDisabledEndpoints,
	endpointFailingMs: parseDuration('--max-endpoint-failing', args.maxEndpointFailing),
})

/** The settings of `gen alerts` without options. */
export const DEFAULT_SETTINGS: AlertSettings = readAlertSettings(
	Object.fromEntries(
		Object.entries(ALERT_OPTIONS).map(([name, option]) => [
			name,
			'default' in option ? option.default : undefined,
		]),
	) as Arguments<typeof ALERT_OPTIONS>,
)

/** Rejects a fragment, because each alert adds its own, and anything but a page. */
export function readRunbookUrl(flag: string, given: string): string {
	const url = URL.canParse(given) ? new URL(given) : undefined
	if (url === undefined || !/^https?:$/.test(url.protocol))
		throw new InvalidOptionError(flag, given, 'a URL such as https://wiki.internal/yaoki')
	if (url.hash !== '')
		throw new InvalidOptionError(
			flag,
			given,
			'a URL without #, because each alert adds the name of its section',
		)
	return given
}

/** 5 of 100 as 0.05, without the last digits of a binary fraction. */
function share(percent: number): number {
	return Number((percent / 100).toPrecision(12))
}
