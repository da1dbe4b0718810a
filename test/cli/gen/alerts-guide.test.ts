/** The tables of docs/guide/alerts.md, compared with the rules and with the cases of promtool. */
import { expect, test } from 'vitest'
import { alertRules } from '../../../src/cli/gen/alert-rules.ts'
import { ALERT_OPTIONS, DEFAULT_SETTINGS, readAlertSettings } from '../../../src/cli/gen/alert-settings.ts'
import { type Arguments, toFlag } from '../../../src/cli/option-tables.ts'
import { page, table } from '../../examples/markdown.ts'
import { ALERT_CASES, type AlertCase } from './alert-cases.ts'

const guide = page('docs/guide/alerts.md')
const limits = table(guide, 'alert', 'default limit', 'options')
const situations = table(guide, 'alert', 'situation', 'fires')

type AlertArguments = Arguments<typeof ALERT_OPTIONS>
const args = (changed: object): AlertArguments => {
	const defaults = Object.entries(ALERT_OPTIONS).map(([name, option]) => [
		name,
		'default' in option ? option.default : 99.9,
	])
	return { ...Object.fromEntries(defaults), ...changed }
}
const rulesWith = (changed: object) => alertRules(readAlertSettings(args(changed)))
const names = rulesWith({}).map(({ alert }) => alert)
const firesIn = (alert: string, { firing }: AlertCase): boolean =>
	Object.values(firing)
		.flat()
		.some((fired) => fired.startsWith(`${alert}{`))

test('lists every alert, in the order of the rules', () => {
	expect(limits.map(([alert]) => alert)).toEqual(names)
})

test('names for each alert the options that change it, and no others', () => {
	const changedBy = new Map(names.map((alert) => [alert, new Set<string>()]))
	for (const [name, option] of Object.entries(ALERT_OPTIONS)) {
		const changed = { [name]: option.type === 'string' ? '17m' : name === 'slo' ? 97 : 7 }
		const before = new Map(rulesWith({}).map((rule) => [rule.alert, JSON.stringify(rule)]))
		for (const rule of rulesWith(changed))
			if (JSON.stringify(rule) !== before.get(rule.alert))
				changedBy.get(rule.alert)?.add(`\`${toFlag(name)}\``)
	}
	expect(
		Object.fromEntries(limits.map(([alert = '', , options = '']) => [alert, options.split(', ').sort()])),
	).toEqual(Object.fromEntries([...changedBy].map(([alert, flags]) => [alert, [...flags].sort()])))
})

test('names the default limits', () => {
	const text = Object.fromEntries(limits.map(([alert = '', limit = '']) => [alert, limit]))
	for (const [name, alert, limit] of [
		['maxErrorPercent', 'YaokiErrorRateHigh', '% %'],
		['minCalls', 'YaokiErrorRateHigh', 'at least %'],
		['maxRetryPercent', 'YaokiRetryRateHigh', '% %'],
		['minRetrySuccessPercent', 'YaokiRetriesFail', '% %'],
		['maxRetriesPerCall', 'YaokiRetriesPerCallHigh', '% retries'],
		['minReopened', 'YaokiCircuitReopens', '% failed'],
		['maxDeadLetters', 'YaokiDeadLetters', 'more than % new'],
		['maxDisabledEndpoints', 'YaokiWebhookEndpointDisabled', 'more than %'],
	] as const)
		expect(text[alert]).toContain(limit.replace('%', String(ALERT_OPTIONS[name].default)))
	expect(DEFAULT_SETTINGS).toMatchObject({
		openMs: 300_000,
		isolatedMs: 3_600_000,
		withoutRelayMs: 120_000,
		ageMs: 3_600_000,
		lagMs: 300_000,
		endpointFailingMs: 86_400_000,
	})
})

test('every situation is a case of promtool with this result, and every case is listed', () => {
	const cases = new Map(ALERT_CASES.map((one) => [one.name, one]))
	for (const [alert = '', situation = '', fires] of situations) {
		const found = cases.get(situation)
		expect(found, situation).toBeDefined()
		if (found)
			expect([alert, situation, fires]).toEqual([alert, situation, firesIn(alert, found) ? 'yes' : 'no'])
	}
	const listed = new Set(situations.map(([, situation]) => situation))
	// It is about all alerts.
	const expected = ALERT_CASES.filter(({ name }) => name !== 'there is no series')
	expect(expected.filter(({ name }) => !listed.has(name)).map(({ name }) => name)).toEqual([])
})

test('lists all situations in which an alert fires, and for each alert one in which it must not', () => {
	const rows = new Set(situations.map((row) => row.join(' | ')))
	const missing = names.flatMap((alert) =>
		ALERT_CASES.filter((one) => firesIn(alert, one))
			.map((one) => `${alert} | ${one.name} | yes`)
			.filter((row) => !rows.has(row)),
	)
	expect(missing).toEqual([])
	for (const name of names)
		expect(
			situations.some(([alert, , fires]) => alert === name && fires === 'no'),
			name,
		).toBe(true)
})
