/** Compares the page about tracing with the code. */
import { expect, test } from 'vitest'
import { OTEL_METRICS } from '../../../src/telemetry/opentelemetry/metric-definitions.ts'
import { SPAN_EVENTS } from '../../../src/telemetry/opentelemetry/span-events.ts'
import { named, page, table } from '../../examples/markdown.ts'

const tracing = page('docs/guide/tracing-reference.md')

test('lists every metric with its type, unit and attributes', () => {
	const documented = table(tracing, 'metric', 'type').map(
		([name = '', type, unit = '', attributes = '']) => ({
			name: named(name)[0],
			type,
			unit: named(unit)[0],
			attributes: named(attributes),
		}),
	)
	expect(documented).toEqual(
		Object.entries(OTEL_METRICS).map(([name, { type, unit, attributes }]) => ({
			name,
			type,
			unit,
			attributes,
		})),
	)
})

test('lists every span event with its attributes', () => {
	const documented = table(tracing, 'span event').map(([name = '', attributes = '']) => [
		named(name)[0],
		named(attributes),
	])
	expect(Object.fromEntries(documented)).toEqual(SPAN_EVENTS)
})
