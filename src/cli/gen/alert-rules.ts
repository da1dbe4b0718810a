/**
 * The alert rules: for the error rate, for each of the five questions, for the outbox and for webhooks. Ratios require a
 * number of calls, so that one retry at night is not 100 %, and divide by nothing that can be 0. Series of
 * processes that do not exist any more end by themselves, so no rule uses `absent`.
 */
import {
	circuitRejections,
	circuitsReopened,
	deadLetters,
	destinationsReopened,
	endpointsDisabled,
	failedCalls,
	failureRates,
	NO_ENDPOINTS,
	rescuedCalls,
	retriedCalls,
	retriesPerCall,
	type Share,
	storedDeadLetters,
	storedDisabledEndpoints,
} from '../../telemetry/queries/five-questions.ts'
import { gauge, ratio, type Scope, type Selection } from '../../telemetry/queries/promql.ts'
import { formatCount } from '../../text/format.ts'
import { type AlertSettings, DEFAULT_SETTINGS } from './alert-settings.ts'

export interface AlertRule {
	readonly alert: string
	/** Lines of PromQL. */
	readonly expression: readonly string[]
	/** How long the expression must be true. */
	readonly for: string
	/** `critical`: messages are lost or hours late. `warning`: look today. `info`: a reminder. */
	readonly severity: 'critical' | 'warning' | 'info'
	readonly summary: string
	readonly description: string
}

const over = (window: string): Scope => ({ where: {}, window })
const by = ['destination']

/** The current value of a gauge. */
const current = (selection: Selection): string => gauge(selection, over(''))

/** The rules, in the order of the runbook. */
export function alertRules(settings: AlertSettings = DEFAULT_SETTINGS): readonly AlertRule[] {
	return [
		errorRateRule(settings),
		...burnRateRules(settings),
		...retryRules(settings),
		...circuitRules(settings),
		...outboxRules(settings),
		...webhookRules(settings),
	]
}

/** Fires if a ratio of the last 10 minutes is beyond its limit, and `counted` has enough calls. */
const ratioRule = (
	alert: string,
	{ part, whole }: Share,
	limit: string,
	counted: string,
	texts: Pick<AlertRule, 'summary' | 'description'>,
): AlertRule => ({
	alert,
	expression: [`${ratio(part, whole)} ${limit}`, `and ${counted}`],
	for: '5m',
	severity: 'warning',
	...texts,
})

function errorRateRule({ maxErrorRate, minCalls }: AlertSettings): AlertRule {
	const failed = failedCalls(over('10m'))
	return ratioRule('YaokiErrorRateHigh', failed, `> ${maxErrorRate}`, `${failed.whole} >= ${minCalls}`, {
		summary: 'Many calls to {{ $labels.service }} fail',
		description:
			'{{ $value | humanizePercentage }} of the calls to {{ $labels.service }} ({{ $labels.job }}) in the last 10 minutes failed or were rejected.',
	})
}

function retryRules(settings: AlertSettings): readonly AlertRule[] {
	const { maxRetryRate, minRetrySuccess, maxRetriesPerCall, minCalls } = settings
	const recently = over('10m')
	const retried = retriedCalls(recently)
	const rescued = rescuedCalls(recently)
	const retries = retriesPerCall(recently)
	return [
		ratioRule('YaokiRetryRateHigh', retried, `> ${maxRetryRate}`, `${retried.part} >= ${minCalls}`, {
			summary: 'Many calls to {{ $labels.service }} are retried',
			description:
				'{{ $value | humanizePercentage }} of the calls to {{ $labels.service }} ({{ $labels.job }}) in the last 10 minutes needed a retry.',
		}),
		ratioRule('YaokiRetriesFail', rescued, `< ${minRetrySuccess}`, `${rescued.whole} >= ${minCalls}`, {
			summary: 'Retries of calls to {{ $labels.service }} fail',
			description:
				'Only {{ $value | humanizePercentage }} of the retried calls to {{ $labels.service }} ({{ $labels.job }}) in the last 10 minutes succeeded.',
		}),
		ratioRule(
			'YaokiRetriesPerCallHigh',
			retries,
			`> ${maxRetriesPerCall}`,
			`${retries.part} >= ${minCalls}`,
			{
				summary: 'Calls to {{ $labels.service }} need many retries',
				description:
					'A call to {{ $labels.service }} ({{ $labels.job }}) needed {{ $value | printf "%.1f" }} retries on average in the last 10 minutes.',
			},
		),
	]
}

const WHICH_CIRCUIT = '{{ $labels.service }}{{ with $labels.destination }}, destination {{ . }}{{ end }}'

function circuitRules({ openMs, minReopened, isolatedMs }: AlertSettings): readonly AlertRule[] {
	const isolated = current({ metric: 'yaoki_circuit_breaker_isolated' })
	return [
		{
			alert: 'YaokiCircuitOpen',
			expression: [
				`${current({ metric: 'circuit_breaker_state' })} > 0`,
				// A breaker has no timer: the circuit of a dependency that is not called any more stays open.
				`and ${circuitRejections(over('5m'))} > 0`,
				`unless ${isolated} > 0`,
				`or ${current({ metric: 'yaoki_outbox_circuit_state', by })} > 0`,
			],
			for: toPrometheusDuration(openMs),
			severity: 'warning',
			summary: `The circuit of ${WHICH_CIRCUIT} does not close`,
			description: `The circuit of ${WHICH_CIRCUIT} ({{ $labels.job }}) has been open or half-open for ${inWords(openMs)}. Calls are rejected, messages wait.`,
		},
		{
			alert: 'YaokiCircuitReopens',
			expression: [
				`${circuitsReopened(over('15m'))} >= ${minReopened}`,
				`or ${destinationsReopened(over('15m'))} >= ${minReopened}`,
			],
			for: '1m',
			severity: 'warning',
			summary: `The circuit of ${WHICH_CIRCUIT} falls back from half-open to open`,
			description: `Probes of ${WHICH_CIRCUIT} ({{ $labels.job }}) failed {{ $value | printf "%.0f" }} times in the last 15 minutes.`,
		},
		{
			alert: 'YaokiCircuitIsolated',
			expression: [`${isolated} > 0`],
			for: toPrometheusDuration(isolatedMs),
			severity: 'info',
			summary: 'A circuit of {{ $labels.service }} is isolated',
			description: `A circuit of {{ $labels.service }} ({{ $labels.job }}) has been isolated by an operator for ${inWords(isolatedMs)} and rejects all calls.`,
		},
	]
}

function outboxRules({ maxDeadLetters, ageMs, lagMs, withoutRelayMs }: AlertSettings): readonly AlertRule[] {
	const due = current({ metric: 'yaoki_outbox_due_messages', by })
	const isOld = `${current({ metric: 'yaoki_outbox_oldest_age_seconds', by, whereNot: NO_ENDPOINTS })} > ${ageMs / 1_000}`
	const paused = { metric: 'yaoki_outbox_pause_state', by }
	const isPaused = `${current(paused)} > 0`
	const isPausedByOperator = `${current({ ...paused, where: { reason: 'operator' } })} > 0`
	return [
		{
			alert: 'YaokiDeadLetters',
			expression: newDeadLetters(maxDeadLetters, { whereNot: NO_ENDPOINTS }),
			for: '1m',
			severity: 'critical',
			summary: 'Messages to {{ $labels.destination }} became dead letters',
			description:
				'New dead letters of {{ $labels.destination }} ({{ $labels.job }}) in the last 15 minutes: {{ $value | printf "%.0f" }}{{ with $labels.cause }}, cause: {{ . }}{{ end }}. They are not sent until they are replayed.',
		},
		{
			alert: 'YaokiOutboxAge',
			// A pause by Retry-After does not end the alert: a destination that always asks for one gets no message.
			expression: [isOld, `unless ${isPausedByOperator}`],
			for: '5m',
			severity: 'critical',
			summary: 'A message to {{ $labels.destination }} is not delivered',
			description:
				'The oldest message to {{ $labels.destination }} ({{ $labels.job }}) has not been sent for {{ $value | humanizeDuration }}, retries included.',
		},
		{
			alert: 'YaokiOutboxLag',
			expression: [
				`${current({ metric: 'yaoki_outbox_oldest_lag_seconds', by })} > ${lagMs / 1_000}`,
				`unless ${isPaused}`,
			],
			for: '5m',
			severity: 'warning',
			summary: 'Messages to {{ $labels.destination }} are late',
			description:
				'The oldest due message to {{ $labels.destination }} ({{ $labels.job }}) has been due for {{ $value | humanizeDuration }}: relays are too slow, or none serves it.',
		},
		{
			alert: 'YaokiDestinationPaused',
			expression: [isOld, `and ${isPausedByOperator}`],
			for: '5m',
			severity: 'warning',
			summary: 'Messages wait because {{ $labels.destination }} is paused',
			description:
				'An operator has paused {{ $labels.destination }} ({{ $labels.job }}). Its oldest message has not been sent for {{ $value | humanizeDuration }}.',
		},
		{
			alert: 'YaokiNoRelay',
			expression: [
				`sum by (job, service) (${due}) > 0`,
				`unless ${current({ metric: 'yaoki_outbox_relays' })} > 0`,
			],
			for: toPrometheusDuration(withoutRelayMs),
			severity: 'critical',
			summary: 'No relay sends the messages of {{ $labels.service }}',
			description:
				'No relay is alive, and messages of {{ $labels.service }} ({{ $labels.job }}) are due: {{ $value | printf "%.0f" }}.',
		},
	]
}

function newDeadLetters(limit: number, labels: Pick<Selection, 'where' | 'whereNot'>): readonly string[] {
	const counted = deadLetters(over('15m'), undefined, labels)
	return [
		`${counted} > ${limit}`,
		// One alert, not two, if both show it. Their services differ: one is the relay, the other the outbox.
		`or (${storedDeadLetters(over('15m'), labels)}) > ${limit}`,
		`unless on (job, destination) ${counted} > ${limit}`,
	]
}

/**
 * The rules of webhooks. A customer's endpoint that is down is no incident of the sender, so none is critical, and
 * the rules of circuits, age and dead letters leave endpoints out.
 */
function webhookRules({
	maxDeadLetters,
	maxDisabledEndpoints,
	endpointFailingMs,
}: AlertSettings): readonly AlertRule[] {
	return [
		{
			alert: 'YaokiWebhookEndpointDisabled',
			expression: [
				`${endpointsDisabled(over('15m'))} > ${maxDisabledEndpoints}`,
				`or (${storedDisabledEndpoints(over('15m'))}) > ${maxDisabledEndpoints}`,
			],
			for: '1m',
			severity: 'warning',
			summary: 'An endpoint of {{ $labels.service }} was disabled',
			description:
				'Endpoints of {{ $labels.service }} ({{ $labels.job }}) that were disabled in the last 15 minutes: {{ $value | printf "%.0f" }}, reason: {{ $labels.reason }}. Their messages wait until they are enabled, and they get no new events.',
		},
		{
			alert: 'YaokiWebhookEndpointFailing',
			expression: [
				`${current({ metric: 'yaoki_webhook_longest_failure_seconds' })} > ${endpointFailingMs / 1_000}`,
			],
			for: '5m',
			severity: 'warning',
			summary: 'An endpoint of {{ $labels.service }} fails',
			description:
				'All attempts to deliver to an endpoint of {{ $labels.service }} ({{ $labels.job }}) have failed for {{ $value | humanizeDuration }}. After the option disableAfterMs it is disabled.',
		},
		{
			alert: 'YaokiWebhookDeadLetters',
			expression: newDeadLetters(maxDeadLetters, { where: NO_ENDPOINTS }),
			for: '1m',
			severity: 'warning',
			summary: 'Messages to endpoints of webhooks became dead letters',
			description:
				'New dead letters of endpoints of webhooks ({{ $labels.job }}) in the last 15 minutes: {{ $value | printf "%.0f" }}{{ with $labels.cause }}, cause: {{ . }}{{ end }}. They are not sent until they are resent.',
		},
	]
}

const UNITS = [
	['d', 86_400_000, 'day'],
	['h', 3_600_000, 'hour'],
	['m', 60_000, 'minute'],
	['s', 1_000, 'second'],
	['ms', 1, 'millisecond'],
] as const

/** The largest unit that leaves no fraction: 90 s stay seconds. */
const unitOf = (ms: number) => UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? UNITS[4]

/** Returns a duration as Prometheus writes it: `5m`. */
export function toPrometheusDuration(ms: number): string {
	const [unit, size] = unitOf(Math.round(ms))
	return `${Math.round(ms) / size}${unit}`
}

/** Returns a duration for a sentence: `5 minutes`. */
function inWords(ms: number): string {
	const [, size, name] = unitOf(Math.round(ms))
	return formatCount(Math.round(ms) / size, name)
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type BurnRate = readonly [
	/** The budget is spent this many times too fast. */
	factor: number,
	longMs: number,
	shortMs: number,
	forMs: number,
	severity: AlertRule['severity'],
]

/**
 * Burn-rate alerts of a service level objective, with the four pairs of windows of the SRE workbook. A long
 * window measures how much of the error budget of 30 days is spent; the short one ends the alert soon after
 * the cause. One window alone either fires for a short spike, or keeps firing for hours after it.
 */
const BURN_RATES: readonly BurnRate[] = [
	[14.4, HOUR, 5 * MINUTE, 2 * MINUTE, 'critical'],
	[6, 6 * HOUR, 30 * MINUTE, 15 * MINUTE, 'critical'],
	[3, DAY, 2 * HOUR, HOUR, 'warning'],
	[1, 3 * DAY, 6 * HOUR, 3 * HOUR, 'warning'],
]

/** The rules of `--slo`, the fastest first. None without it. */
const burnRateRules = ({ slo, minCalls }: AlertSettings): readonly AlertRule[] =>
	slo === undefined ? [] : BURN_RATES.map((one) => toRule(one, slo, minCalls))

function toRule(rate: BurnRate, slo: number, minCalls: number): AlertRule {
	const [factor, longMs, shortMs, forMs, severity] = rate
	const window = toPrometheusDuration(longMs)
	const long = failureRates({ where: {}, window })
	const short = failureRates({ where: {}, window: toPrometheusDuration(shortMs) })
	const limit = rounded(factor * (1 - slo))
	return {
		alert: `YaokiSloBurn${window}`,
		expression: [
			`${ratio(long.part, long.whole)} > ${limit}`,
			`and ${ratio(short.part, short.whole)} > ${limit}`,
			`and ${long.whole} * ${longMs / 1_000} >= ${minCalls}`,
		],
		for: toPrometheusDuration(forMs),
		severity,
		summary: `Calls to {{ $labels.service }} fail too often for an SLO of ${rounded(slo * 100)} %`,
		description: `{{ $value | humanizePercentage }} of the calls to {{ $labels.service }} ({{ $labels.job }}) within ${inWords(longMs)} failed or were rejected. ${factor === 1 ? 'The error budget does not last' : `The error budget is spent more than ${factor} times too fast`}.`,
	}
}

/** Returns the number without the last digits of a binary fraction. */
const rounded = (value: number): number => Number(value.toPrecision(9))
