/** The resources of the Prometheus Operator, read back as a cluster would read them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run } from '../outbox/run-yaoki.ts'

async function printed(...args: readonly string[]): Promise<string> {
	const { code, stdout, stderr } = await run(['gen', ...args])
	expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
	return stdout
}

const alerts = (...args: readonly string[]) => printed('alerts', ...args)
const monitor = (...args: readonly string[]) => printed('service-monitor', '--selector', 'app=shop', ...args)

describe('gen alerts --kubernetes', () => {
	test.each([
		[[]],
		[['--slo', '99.9', '--max-lag', '15m', '--runbook-url', 'https://wiki.internal/yaoki']],
		[['--for', 'otel']],
	])('wraps the groups of the plain rules: %j', async (args) => {
		const { groups } = parse(await alerts(...args))
		expect(groups[0].rules.length).toBeGreaterThan(10)
		expect(parse(await alerts('--kubernetes', ...args))).toEqual({
			apiVersion: 'monitoring.coreos.com/v1',
			kind: 'PrometheusRule',
			metadata: { name: 'yaoki' },
			spec: { groups },
		})
	})

	test('gen alerts --kubernetes has the given metadata, as text where YAML would read another type', async () => {
		const labels = ['--label', 'release=prometheus', '--label', 'example.com/on=1', '--label', 'empty=']
		const out = await alerts('--kubernetes', '--name', 'true', '--namespace', '1e3', ...labels)
		expect(parse(out).metadata).toEqual({
			name: 'true',
			namespace: '1e3',
			labels: { release: 'prometheus', 'example.com/on': '1', empty: '' },
		})
	})

	test('prints the same resource with --json, and to a file', async () => {
		const resource = parse(await alerts('--kubernetes'))
		expect(JSON.parse(await alerts('--kubernetes', '--json'))).toEqual(resource)
		const out = join(temporaryFolder(), 'rule.yaml')
		expect(await run(['gen', 'alerts', '--kubernetes', '--out', out])).toMatchObject({ code: 0, stdout: '' })
		expect(parse(readFileSync(out, 'utf8'))).toEqual(resource)
	})

	test.each([
		['--name', 'shop'],
		['--namespace', 'shop'],
		['--label', 'release=prometheus'],
	])('%s without it is rejected, because it would have no effect', async (option, value) => {
		const { code, stdout, stderr } = await run(['gen', 'alerts', option, value])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(`${option} requires --kubernetes.`)
	})
})

describe('gen service-monitor', () => {
	test('scrapes /metrics of the port metrics every 30 seconds, and keeps the labels of the metrics', async () => {
		expect(parse(await monitor())).toEqual({
			apiVersion: 'monitoring.coreos.com/v1',
			kind: 'ServiceMonitor',
			metadata: { name: 'yaoki' },
			spec: {
				selector: { matchLabels: { app: 'shop' } },
				endpoints: [{ port: 'metrics', path: '/metrics', interval: '30s', honorLabels: true }],
			},
		})
	})

	test('gen service-monitor has the given options, and prints the same with --json', async () => {
		const args = [
			...['--selector', 'app.kubernetes.io/name=shop', '--port', '8080', '--path', '/internal/metrics'],
			...['--interval', '90s', '--name', 'shop.metrics', '--namespace', 'shop', '--label', 'release=0'],
		]
		const resource = parse(await monitor(...args))
		expect(resource).toMatchObject({
			metadata: { name: 'shop.metrics', namespace: 'shop', labels: { release: '0' } },
			spec: {
				selector: { matchLabels: { app: 'shop', 'app.kubernetes.io/name': 'shop' } },
				endpoints: [{ port: '8080', path: '/internal/metrics', interval: '90s', honorLabels: true }],
			},
		})
		expect(JSON.parse(await monitor(...args, '--json'))).toEqual(resource)
	})

	test('requires a selector: without one it would scrape every Service', async () => {
		const { code, stdout, stderr } = await run(['gen', 'service-monitor'])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(
			'--selector KEY=VALUE is required.\nName a label of your Service: --selector app=shop',
		)
	})
})

const NAME = 'a DNS-1123 name such as yaoki-alerts: at most 253 lower-case letters, digits, "-" and "."'
const label = (example: string) =>
	`a DNS-1123 label such as ${example}: at most 63 lower-case letters, digits and "-"`

describe.each([
	['alerts', ['--kubernetes']],
	['service-monitor', ['--selector', 'app=shop']],
])('gen %s rejects', (command, required) => {
	test.each([
		...[
			'Yaoki',
			'-a',
			'a-',
			'a..b',
			'a.',
			'',
			'a_b',
			'a\n',
			'a: b',
			'é',
			'a'.repeat(64),
			'a.'.repeat(127),
		].map((given) => ['--name', given, NAME]),
		...['a.b', 'A', '-a', 'a'.repeat(64)].map((given) => ['--namespace', given, label('monitoring')]),
		...['release', '=a', 'a=b c', 'a=-b', '/a=b', 'A_/a=b', 'a/b/c=d', `a=${'b'.repeat(64)}`, 'a="b"'].map(
			(given) => ['--label', given, 'a label of Kubernetes such as release=prometheus'],
		),
	])('%s=%j', async (option = '', given = '', expected = '') => {
		const { code, stdout, stderr } = await run(['gen', command, ...required, `${option}=${given}`])
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(`Invalid option "${option}": expected ${expected}, got `)
	})

	test('a label with two values', async () => {
		const { code, stderr } = await run(['gen', command, ...required, '--label', 'a=1', '--label', 'a=2'])
		expect(code).toBe(2)
		expect(stderr).toContain('Invalid option "--label": expected one value for the label a, got "a=2"')
	})
})

test.each([
	['--port', 'Metrics', label('metrics')],
	['--path', 'metrics', 'a path that starts with /, such as /metrics'],
	['--path', '/a b', 'a path that starts with /, such as /metrics'],
	['--interval', '30', 'a duration such as 500ms, 30s, 5m, 2h or 1d, at least 1000ms'],
	['--interval', '500ms', 'a duration such as 500ms, 30s, 5m, 2h or 1d, at least 1000ms'],
	['--selector', 'shop', 'a label of Kubernetes such as app=shop'],
])('gen service-monitor %s %j is rejected', async (option, given, expected) => {
	const { code, stdout, stderr } = await run([
		...['gen', 'service-monitor', '--selector', 'a=b', option, given],
	])
	expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
	expect(stderr).toContain(`Invalid option "${option}": expected ${expected}, got "${given}"`)
})

test('the longest valid names are accepted', async () => {
	const longest = [63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.')
	expect(longest).toHaveLength(253)
	expect(parse(await alerts('--kubernetes', '--name', longest)).metadata.name).toBe(longest)
})
