/** Real logs: cut off, shared with other writers, merged from several processes, of another pipeline, or empty. */

import { describe, expect, test } from 'vitest'
import {
	bulkhead,
	circuitBreaker,
	hedge,
	InvalidArgumentError,
	InvalidOptionError,
	type Policy,
	pipeline,
	retry,
	timeout,
} from 'yaoki'
import { IncidentReader, scenarioFromIncident } from '../../../src/sim/incident/reader.ts'
import { type ProductionModel, produce, readArrivals, readService } from './production.ts'

const MODEL: ProductionModel = {
	seconds: 40,
	perSecond: 20,
	faults: [{ kind: 'outage', fromMs: 15_000, toMs: 25_000 }],
}
const make = () => pipeline(retry({ maxRetries: 2 }), timeout(500))
const { lines } = produce(MODEL, make)
const calls = readArrivals(scenarioFromIncident(lines).scenario).length

const named = (pipelineName: string, maker: () => Policy = make) =>
	produce(MODEL, maker, (event) => ({ ...event, pipeline: pipelineName })).lines

/** Expects that the lines are rejected, with the path of the option and a part of the message. */
function expectInvalid(act: () => unknown, name: string, part: string): void {
	const place = name === 'lines' ? { argument: name } : { optionPath: name }
	expect(act).toThrow(name === 'lines' ? InvalidArgumentError : InvalidOptionError)
	expect(act).toThrow(expect.objectContaining({ ...place, message: expect.stringContaining(part) }))
}

describe('lines', () => {
	test('are read from a string, a list or one by one, with any line breaks', () => {
		const read = scenarioFromIncident(lines)
		expect(scenarioFromIncident(lines.join('\n'))).toEqual(read)
		expect(scenarioFromIncident(`\uFEFF${lines.join('\r\n')}\r\n`)).toEqual(read)
		const reader = new IncidentReader()
		for (const line of lines) reader.add(`${line}\n`)
		expect(reader.finish()).toEqual(read)
	})

	test('are counted if unreadable, and the first one is reported', () => {
		const mixed = [
			'',
			lines[0] ?? '',
			'server listens on 8080',
			'{"type":"retry_success"',
			'{"type":"new_event","emitter":"retry","timestamp":1}',
			'{"type":"retry_success","emitter":"retry","callId":"a","timestamp":1767225600000,"attempts":1}',
			'{"type":"retry_success","emitter":"retry","callId":"a","timestamp":"now","attempts":1,"durationMs":1}',
			'{"type":"retry_success","emitter":"retry","callId":5,"timestamp":1767225600000,"attempts":1,"durationMs":1}',
			'null',
			'[{}]',
			...lines.slice(1),
		]
		const { summary, scenario } = scenarioFromIncident(mixed)
		expect(summary.skipped).toEqual({
			unreadable: 8,
			firstUnreadable: { line: 3, reason: 'not JSON' },
			filtered: 0,
			dropped: 0,
			outliers: 0,
		})
		expect(summary).toMatchObject({ lines: lines.length + 8, events: lines.length })
		expect(scenario).toEqual(scenarioFromIncident(lines).scenario)
	})

	test('are skipped if outboxes or event logs wrote them, and dropped events are a caveat', () => {
		const notes = [
			'{"type":"relay_sent","emitter":"relay","timestamp":1767225600000}',
			'{"type":"telemetry_events_dropped","emitter":"eventLog","timestamp":1767225600000,"count":1200}',
			'{"type":"telemetry_events_dropped","emitter":"eventLog","timestamp":1767225600000,"count":34}',
		]
		const { summary, scenario } = scenarioFromIncident([...notes, ...lines])
		expect(summary.skipped).toMatchObject({ unreadable: 0, dropped: 1_234 })
		expect(summary.caveats.map(({ text }) => text).join()).toContain('The event log dropped 1,234 events')
		expect(scenario).toEqual(scenarioFromIncident(lines).scenario)
	})

	test.each([
		['', 'no lines'],
		['\n \n', 'no lines'],
		['a\nb', '2 lines without an event (line 1 is not JSON)'],
		['\n{}', '1 lines without an event (line 2 is not an event)'],
	])('without an event are rejected: %j', (text, part) => {
		expectInvalid(() => scenarioFromIncident(text), 'lines', part)
	})

	test('are rejected if they are neither a string nor iterable', () => {
		// @ts-expect-error a number
		expectInvalid(() => scenarioFromIncident(7), 'lines', 'a string or an iterable of lines')
	})
})

describe('events that do not suffice are rejected', () => {
	test('rejects events that report only rejected calls', () => {
		const few = produce(MODEL, () => bulkhead({ maxConcurrent: 1, maxQueue: 0 })).lines
		expectInvalid(() => scenarioFromIncident(few), 'lines', 'report no successful calls: bulkhead')
	})

	test('rejects events that report no calls', () => {
		const hedges = produce(MODEL, () => hedge({ delayMs: 1 })).lines
		expect(hedges.length).toBeGreaterThan(10)
		expectInvalid(() => scenarioFromIncident(hedges), 'lines', 'events that report no calls')
	})

	test('rejects events without a successful call', () => {
		const dead: ProductionModel = { ...MODEL, faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] }
		const act = () => scenarioFromIncident(produce(dead, make).lines)
		expectInvalid(act, 'lines', 'events without a successful call')
	})
})

describe('events of several pipelines', () => {
	const users = named('users')
	const orders = named('orders', () => pipeline(circuitBreaker({ failureThreshold: 3 }), timeout(500)))
	const both = [...orders, ...users]

	test('are rejected, with the names', () => {
		expectInvalid(() => scenarioFromIncident(both), 'pipeline', "'orders' or 'users'")
	})

	test('are selected by name', () => {
		const { summary, scenario } = scenarioFromIncident(both, { pipeline: 'users' })
		expect(summary).toMatchObject({ pipeline: 'users', events: users.length })
		// A change of state is not caused by one call.
		const ofCalls = orders.filter((line) => !line.includes('state_change'))
		expect(summary.skipped.filtered).toBe(ofCalls.length)
		expect(scenario.name).toBe('users')
		expect(readArrivals(scenario)).toHaveLength(calls)
	})

	test('have the name of their service in an event log if they have no pipeline', () => {
		const ofService = (service: string) => produce(MODEL, make, (event) => ({ service, ...event })).lines
		const mixed = [...ofService('search'), ...ofService('stock')]
		expectInvalid(() => scenarioFromIncident(mixed), 'pipeline', "'search' or 'stock'")
		const { summary } = scenarioFromIncident(mixed, { pipeline: 'search' })
		expect(summary).toMatchObject({ pipeline: 'search', events: mixed.length / 2 })
	})

	test('include those without a pipeline, under the empty name', () => {
		const mixed = [...lines, ...orders]
		expectInvalid(() => scenarioFromIncident(mixed), 'pipeline', "'' or 'orders'")
		expect(scenarioFromIncident(mixed, { pipeline: '' }).summary.pipeline).toBeUndefined()
	})

	test('are rejected if none has the name', () => {
		const act = () => scenarioFromIncident(both, { pipeline: 'user' })
		expectInvalid(act, 'pipeline', "a pipeline in the events, 'orders' or 'users'")
	})
})

describe('events of several policies that report calls', () => {
	const layers = () =>
		pipeline(retry({ name: 'outer' }), retry({ name: 'inner', maxRetries: 1 }), timeout(500))
	const nested = produce(MODEL, layers)

	test('are rejected, with the names', () => {
		expectInvalid(() => scenarioFromIncident(nested.lines), 'policy', 'one or more of inner, outer')
	})

	test('are read by the name of the outermost', () => {
		const { summary } = scenarioFromIncident(nested.lines, { policy: ['outer', 'timeout'] })
		expect(summary.calls.total).toBe(nested.truth.clients['web']?.calls)
		expect(summary.source).toBe('outer')
	})

	test('are read together if they are side by side', () => {
		const [left, right] = ['left', 'right'].map(
			(name) => produce(MODEL, () => circuitBreaker({ name, failureThreshold: 3 })).lines,
		)
		const { summary } = scenarioFromIncident([...(left ?? []), ...(right ?? [])], {
			policy: ['left', 'right'],
		})
		expect(summary.calls.total).toBe(2 * calls)
	})

	test('are rejected if none has the name', () => {
		const act = () => scenarioFromIncident(lines, { policy: 'retries' })
		expectInvalid(act, 'policy', "policies in the events, 'retry'")
	})
})

describe('clocks', () => {
	const shifted = (ms: number) => (line: string) => {
		const event: { timestamp: number } = JSON.parse(line)
		return JSON.stringify({ ...event, timestamp: event.timestamp + ms })
	}

	test('hours off: their events are left out and reported', () => {
		const stray = lines.slice(0, 100).map(shifted(-7_200_000))
		const { summary, scenario } = scenarioFromIncident([...stray, ...lines])
		expect(summary.skipped.outliers).toBe(100)
		expect(summary.caveats.map(({ code }) => code)).toContain('outliers')
		expect(scenario).toEqual(scenarioFromIncident(lines).scenario)
	})

	test('extend no incident: an event at 1970 is an outlier', () => {
		const epoch = shifted(-Date.UTC(2026, 0, 1))(lines[0] ?? '')
		expect(scenarioFromIncident([epoch, ...lines]).summary.skipped.outliers).toBe(1)
	})

	test('are merged: calls of several processes are sorted by time', () => {
		const later = produce(MODEL, make).lines.map(shifted(10_000))
		const at = readArrivals(scenarioFromIncident([...later, ...lines]).scenario)
		expect(at).toHaveLength(2 * calls)
		expect(at).toEqual(at.toSorted((a, b) => a - b))
	})

	test('suffice with whole milliseconds, as in production', () => {
		const whole = produce(MODEL, make, (event) => {
			const given: Record<string, unknown> = { ...event }
			return { ...given, timestamp: Math.floor(Number(given['timestamp'])) }
		})
		const [fault] = readService(scenarioFromIncident(whole.lines).scenario).faults ?? []
		expect(fault).toMatchObject({ kind: 'outage', mode: 'refuse' })
		expect(Math.abs((fault?.fromMs ?? 0) - 15_000)).toBeLessThan(200)
	})
})

describe('options', () => {
	test.each([
		[{ workers: 0 }, 'workers', 'an integer of 1 or more'],
		[{ workers: 1.5 }, 'workers', 'an integer of 1 or more'],
		[{ resolutionMs: 0 }, 'resolutionMs', ''],
		[{ pipeline: 7 }, 'pipeline', 'a string'],
		[{ policy: [] }, 'policy', 'a name or a list of names'],
		[{ policies: 'a' }, 'policies', ''],
		[7, 'options', 'an object'],
	])('%j is rejected', (options, optionPath, part) => {
		// @ts-expect-error some have the wrong type
		expectInvalid(() => scenarioFromIncident(lines, options), optionPath, part)
	})

	test('a resolution too fine for the length of the events is rejected', () => {
		const slow = Array.from({ length: 2_000 }, (_, index) =>
			JSON.stringify({
				type: 'success',
				emitter: 'breaker',
				callId: String(index),
				timestamp: 1e12 + index * 3_000_000,
				durationMs: 5,
			}),
		)
		const part = 'at least 1200, because the events cover 1666 hours'
		expectInvalid(() => scenarioFromIncident(slow), 'resolutionMs', part)
		expect(readArrivals(scenarioFromIncident(slow, { resolutionMs: 60_000 }).scenario)).toHaveLength(2_000)
	})

	test('a finer resolution finds the edges of faults more precisely', () => {
		const [fault] = readService(scenarioFromIncident(lines, { resolutionMs: 100 }).scenario).faults ?? []
		expect(Math.abs((fault?.toMs ?? 0) - 25_000)).toBeLessThan(200)
	})
})
