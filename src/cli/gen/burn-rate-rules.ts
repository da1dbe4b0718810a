/**
 * Burn-rate alerts of a service level objective, with the four pairs of windows of the SRE workbook. A long window measures how much of the
 * error budget of 30 days is spent; the short one ends the alert soon after the cause. One window alone either fires for a short spike, or keeps
 * firing for hours after it.
 */
import { failureRates } from '../../telemetry/queries/five-questions.ts'
import { ratio } from '../../telemetry/queries/promql.ts'
import type { AlertRule } from './alert-rule.ts'
import type { AlertSettings } from './alert-settings.ts'
import { inWords, toPrometheusDuration } from './durations.ts'

interface BurnRate {
	/** How many times too fast the budget is spent. */
	readonly factor: number
	readonly longMs: number
	readonly shortMs: number
	readonly forMs: number
	readonly severity: AlertRule['severity']
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const BURN_RATES: readonly BurnRate[] = [
	{
		...{ factor: 14.4, longMs: HOUR, shortMs: 5 * MINUTE, forMs: 2 * MINUTE },
		severity: 'critical',
	},
	{
		...{ factor: 6, longMs: 6 * HOUR, shortMs: 30 * MINUTE, forMs: 15 * MINUTE },
		severity: 'critical',
	},
	{
		...{ factor: 3, longMs: DAY, shortMs: 2 * HOUR, forMs: HOUR },
		severity: 'warning',
	},
	{
		...{ factor: 1, longMs: 3 * DAY, shortMs: 6 * HOUR, forMs: 3 * HOUR },
		severity: 'warning',
	},
]

/** The rules of `--slo`, the fastest first. None without it. */
export const burnRateRules = ({ slo, minCalls }: AlertSettings): readonly AlertRule[] =>
	slo === undefined ? [] : BURN_RATES.map((one) => toRule(one, slo, minCalls))

function toRule(
	{ factor, longMs, shortMs, forMs, severity }: BurnRate,
	slo: number,
	minCalls: number,
): AlertRule {
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
