import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run } from '../outbox/run-yaoki.ts'

const committed = (path: string): string =>
	readFileSync(new URL(`../../../ops/${path}`, import.meta.url), 'utf8')

describe.each([
	['grafana', 'grafana/yaoki.json'],
	['alerts', 'prometheus/yaoki-alerts.yml'],
])('gen %s', (kind, file) => {
	test(`prints ops/${file}; if it does not, run: yaoki gen ${kind} > ops/${file}`, async () => {
		const { code, stdout, stderr } = await run(['gen', kind])
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		expect(stdout).toBe(committed(file))
	})

	test('writes the same to a file', async () => {
		const out = join(temporaryFolder(), 'out')
		const { code, stdout, stderr } = await run(['gen', kind, '--out', out])
		expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: `wrote ${out}\n` })
		expect(readFileSync(out, 'utf8')).toBe(committed(file))
	})

	test('rejects a folder, and a file in a folder that does not exist', async () => {
		const folder = temporaryFolder()
		expect(await run(['gen', kind, '--out', folder])).toMatchObject({ code: 2, stdout: '' })
		expect(await run(['gen', kind, '--out', join(folder, 'no', 'such')])).toMatchObject({ code: 3 })
	})
})

const rulesOf = async (...args: string[]) => {
	const { code, stdout, stderr } = await run(['gen', 'alerts', '--json', ...args])
	expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
	const rules: readonly { alert: string; expr: string; for: string; annotations: Record<string, string> }[] =
		JSON.parse(stdout).groups[0].rules
	return new Map(rules.map((rule) => [rule.alert, rule]))
}

test('gen alerts --json prints the same rules as data, with links to another runbook', async () => {
	const rules = await rulesOf('--runbook-url', 'https://wiki.internal/yaoki')
	expect(rules.get('YaokiRetryRateHigh')?.annotations['runbook_url']).toBe(
		'https://wiki.internal/yaoki#yaokiretryratehigh',
	)
})

test('alerts have no link without --runbook-url, because the package has no public page', async () => {
	const rules = await rulesOf()
	expect(Object.keys(rules.get('YaokiErrorRateHigh')?.annotations ?? {})).toEqual(['summary', 'description'])
})

test('gen alerts --slo adds burn-rate alerts for four pairs of windows', async () => {
	expect([...(await rulesOf()).keys()].filter((name) => name.includes('Slo'))).toEqual([])
	const rules = await rulesOf('--slo', '99.5')
	const limits = ['1h', '6h', '1d', '3d'].map((window) => {
		const { expr = '', for: duration } = rules.get(`YaokiSloBurn${window}`) ?? {}
		return [duration, [...expr.matchAll(/\[(\w+)\]\)\) > 0\) > ([\d.]+)/g)].map(([, ...found]) => found)]
	})
	expect(limits).toEqual([
		[
			'2m',
			[
				['1h', '0.072'],
				['5m', '0.072'],
			],
		],
		[
			'15m',
			[
				['6h', '0.03'],
				['30m', '0.03'],
			],
		],
		[
			'1h',
			[
				['1d', '0.015'],
				['2h', '0.015'],
			],
		],
		[
			'3h',
			[
				['3d', '0.005'],
				['6h', '0.005'],
			],
		],
	])
})

test('options change limits, durations and texts', async () => {
	const rules = await rulesOf(
		'--max-error-percent',
		'0.3',
		'--min-calls',
		'7',
		'--max-open',
		'90s',
		'--max-lag',
		'2h',
	)
	expect(rules.get('YaokiErrorRateHigh')?.expr).toMatch(/ > 0\.003\n.* >= 7$/s)
	expect(rules.get('YaokiCircuitOpen')).toMatchObject({
		for: '90s',
		annotations: { description: expect.stringContaining('for 90 seconds') },
	})
	expect(rules.get('YaokiOutboxLag')?.expr).toContain('> 7200')
})

test.each([
	[['--slo', '100'], 'Invalid option "--slo": expected a number from 95 to 99.999, got "100"'],
	[['--slo', '0.999'], 'Invalid option "--slo": expected a number from 95 to 99.999, got "0.999"'],
	[
		['--max-error-percent', 'five'],
		'Invalid option "--max-error-percent": expected a number from 0 to 99, got "five"',
	],
	[['--min-calls', '0'], 'Invalid option "--min-calls": expected an integer >= 1, got "0"'],
	[
		['--max-lag', '5'],
		'Invalid option "--max-lag": expected a duration such as 500ms, 30s, 5m, 2h or 1d, got "5"',
	],
	[
		['--runbook-url', 'wiki/yaoki'],
		'Invalid option "--runbook-url": expected a URL such as https://wiki.internal/yaoki, got "wiki/yaoki"',
	],
	[['--runbook-url', 'https://wiki/#a'], 'Invalid option "--runbook-url": expected a URL without #'],
	[['--max-errors', '5'], 'Unknown option --max-errors.'],
])('gen alerts %j is rejected', async (args, message) => {
	const { code, stdout, stderr } = await run(['gen', 'alerts', ...args])
	expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
	expect(stderr).toContain(message)
})
