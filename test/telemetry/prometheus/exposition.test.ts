import { execFileSync, spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inMemoryMetrics } from '../../../src/telemetry/in-memory/in-memory.ts'
import { METRICS } from '../../../src/telemetry/metrics/catalog.ts'
import { toExposition } from '../../../src/telemetry/prometheus/exposition.ts'
import { HAS_PROMETHEUS, PROMTOOL } from '../../support/real-prometheus.ts'
import { createCallEnd } from '../call-end.ts'
import { type ParsedSample, parseExposition } from '../parse-exposition.ts'
import { eventOf, sourceOf } from '../source.ts'

const counter = { type: 'counter', labels: ['service'], help: 'Calls.' } as const

/** Characters that mean something in the format, in JavaScript or in Unicode. */
const CHARACTERS = [
	'a',
	'"',
	'\\',
	'\n',
	'\r',
	'\0',
	'\u2028',
	'\uD800',
	'{',
	'}',
	',',
	'=',
	' ',
	'#',
	'決',
	'\u{1F600}',
]
const TEXT = fc.array(fc.constantFrom(...CHARACTERS)).map((characters) => characters.join(''))

/** The format does not distinguish 0 and -0. */
const toRow = ({ labels, value }: ParsedSample) => [labels['service'], labels['destination'], value + 0]

describe('the text format', () => {
	test('the text format has help, type and values, and ends with a line break', () => {
		const samples = [{ name: 'calls_total', labels: { service: 'a' }, value: 3 }]
		expect(toExposition([{ name: 'calls_total', definition: counter, samples }])).toBe(
			'# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{service="a"} 3\n',
		)
	})

	test('leaves out metrics without values', () => {
		expect(toExposition([{ name: 'calls_total', definition: counter, samples: [] }])).toBe('')
	})

	test('escapes help and label values', () => {
		const definition = { ...counter, help: 'a\\b\n"c"' }
		const samples = [{ name: 'calls_total', labels: { service: 'a\\b\n"c"' }, value: 1 }]
		const text = toExposition([{ name: 'calls_total', definition, samples }])
		expect(text).toContain('# HELP calls_total a\\\\b\\n"c"\n')
		expect(text).toContain('{service="a\\\\b\\n\\"c\\""}')
	})

	test.each([
		[Infinity, '+Inf'],
		[-Infinity, '-Inf'],
		[Number.NaN, 'NaN'],
		[1e21, '1e+21'],
		[0.1, '0.1'],
	])('writes %d as %s', (value, written) => {
		const samples = [{ name: 'calls_total', labels: {}, value }]
		const text = toExposition([{ name: 'calls_total', definition: counter, samples }])
		expect(text).toContain(`calls_total{} ${written}\n`)
	})

	test('can be read back with any label values and numbers', () => {
		const hostile = fc.oneof(
			TEXT,
			fc.constantFrom('\n', '"', '\\', '\\n', '",b="', 'x'.repeat(10_000), '決済'),
		)
		const sample = fc.record({
			name: fc.constant('calls_total'),
			labels: fc.record({ service: hostile, destination: hostile }),
			value: fc.double(),
		})
		fc.assert(
			fc.property(fc.array(sample, { minLength: 1, maxLength: 4 }), (samples) => {
				const parsed = parseExposition(toExposition([{ name: 'calls_total', definition: counter, samples }]))
				expect(parsed.samples.map(toRow)).toEqual(samples.map(toRow))
			}),
			{ numRuns: 40 },
		)
	})
})

describe('metrics with hostile names', () => {
	test('can be read back, whatever the service is called', async () => {
		const hostile = fc.oneof(
			TEXT,
			fc.constantFrom('a\nb 1\n', '"', '\\', '\uD800', 'x'.repeat(10_000), '__proto__', 'toString', ''),
		)
		await fc.assert(
			fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: 5 }), async (services) => {
				const metrics = inMemoryMetrics()
				const { onCallEnd } = metrics.attach(sourceOf({ serviceOf: ({ key = '' }) => key }))
				for (const key of services) onCallEnd?.(createCallEnd({ key }))
				const text = await metrics.toPrometheus()
				const { samples } = parseExposition(text)
				const calls = samples.filter(
					({ name, labels }) => name === 'yaoki_calls_total' && labels['outcome'] === 'success',
				)
				expect(calls.reduce((sum, { value }) => sum + value, 0)).toBe(services.length)
				expect(new Set(calls.map(({ labels }) => labels['service'])).size).toBe(calls.length)
				expect(new TextDecoder().decode(new TextEncoder().encode(text)) === text).toBe(true)
			}),
			{ numRuns: 40 },
		)
	})
})

test.skipIf(!HAS_PROMETHEUS)('promtool accepts the text (skipped without promtool)', async () => {
	const metrics = inMemoryMetrics()
	const serviceOf = () => 'a "quoted"\nservice\\'
	const client = metrics.attach(sourceOf({ kind: 'http', serviceOf }))
	client.onCallEnd?.(createCallEnd({ retries: 1, attempts: 2 }))
	client.onEvent?.(eventOf('retry_attempt', { method: 'GET', statusCode: 503 }))
	client.onEvent?.(eventOf('state_change', { from: 'closed', to: 'open' }))
	const relay = metrics.attach(sourceOf({ kind: 'relay', serviceOf }))
	relay.onEvent?.(eventOf('relay_sent', { destination: 'billing', durationMs: 1, lagMs: 1 }))
	const text = await metrics.toPrometheus()
	// Throws if the exit code is not 0.
	expect(execFileSync(PROMTOOL, ['check', 'metrics'], { input: text, encoding: 'utf8' })).toBe('')
})

test.skipIf(!HAS_PROMETHEUS)(
	'promtool accepts the names and texts of all metrics (skipped without promtool)',
	() => {
		const readings = Object.entries(METRICS).map(([name, definition]) => {
			const labels = Object.fromEntries(definition.labels.map((label) => [label, 'a']))
			const samples = [
				{ name: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: 1 },
				{ name: `${name}_sum`, labels, value: 1 },
				{ name: `${name}_count`, labels, value: 1 },
			]
			return {
				name,
				definition,
				samples: definition.type === 'histogram' ? samples : [{ name, labels, value: 1 }],
			}
		})
		const { status, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], {
			input: toExposition(readings),
			encoding: 'utf8',
		})
		expect([status, stderr]).toEqual([0, ''])
	},
)
