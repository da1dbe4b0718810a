import { describe, expect, test } from 'vitest'
import { alertRules } from '../../../src/cli/gen/alert-rules.ts'
import { DEFAULT_SETTINGS } from '../../../src/cli/gen/alert-settings.ts'
import { check } from '../../../src/cli/outbox/check-command.ts'
import { parseDuration } from '../../../src/cli/outbox/parse-time.ts'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'
import { blocks, page, table } from '../../examples/markdown.ts'

const runbook = page('docs/guide/runbook.md')
const rules = alertRules({ ...DEFAULT_SETTINGS, slo: 0.999 })
const headings = [...runbook.text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)

test('the runbook has a section for each alert, in the order of the rules, and no other', () => {
	expect(headings).toEqual(rules.map(({ alert }) => alert))
})

test('names duration and severity of each alert', () => {
	const rows = table(runbook, 'alert', 'fires if', 'for', 'severity')
	expect(rows.map(([name, , duration, severity]) => [name, duration, severity])).toEqual(
		rules.map((rule) => [`[${rule.alert}](#${rule.alert.toLowerCase()})`, rule.for, rule.severity]),
	)
})

describe.each(headings)('%s', (title) => {
	const section = runbook.text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

	test('says what it means, what to check and what to do', () => {
		expect(section).toMatch(/\*\*Meaning\*\*[\s\S]+\*\*Check\*\*[\s\S]+\*\*Do\*\*\n\n- /)
	})
})

test('queries only metrics of the catalog', () => {
	const queries = blocks(runbook).filter(({ language }) => language === 'promql')
	expect(queries.length).toBeGreaterThan(5)
	for (const { code } of queries)
		for (const [, name = ''] of code.matchAll(/\b((?:yaoki|circuit|http_client)_\w+?)(?:_bucket)?\b/g))
			expect(Object.keys(METRICS), name).toContain(name)
})

test('lag and age have the limits of `yaoki outbox check`', () => {
	const limit = (name: string) =>
		Number(/> (\d+)$/.exec(rules.find(({ alert }) => alert === name)?.expression[0] ?? '')?.[1]) * 1_000
	const { maxLag, maxAge } = check.options as Record<string, { readonly default: string }>
	expect(limit('YaokiOutboxLag')).toBe(parseDuration('--max-lag', maxLag?.default ?? ''))
	expect(limit('YaokiOutboxAge')).toBe(parseDuration('--max-age', maxAge?.default ?? ''))
})
