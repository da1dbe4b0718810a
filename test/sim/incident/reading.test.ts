/** Logs as they are: cut off, shared with others, merged from several processes, of the wrong pipeline, or empty. */

import { describe, expect, test } from 'vitest'
import {
	bulkhead,
	circuitBreaker,
	hedge,
	InvalidOptionError,
	type Policy,
	pipeline,
	retry,
	timeout,
} from 'yaoki'
import { scenarioFromIncident } from '../../../src/sim/incident/incident-scenario.ts'
import { IncidentReader } from '../../../src/sim/incident/reader.ts'
import { produce, readArrivals, readService, type World } from './production.ts'

const WORLD: World = {
	seconds: 40,
	perSecond: 20,
	faults: [{ kind: 'outage', fromMs: 15_000, toMs: 25_000 }],
}
const make = () => pipeline(retry({ maxRetries: 2 }), timeout(500))
const { lines } = produce(WORLD, make)
const calls = readArrivals(scenarioFromIncident(lines).scenario).length

const named = (pipelineName: string, maker: () => Policy = make) =>
	produce(WORLD, maker, (event) => ({ ...event, pipeline: pipelineName })).lines

describe('lines', () => {
	test('may come as a text, as a list, one at a time, and with the line breaks of any system', () => {
		const read = scenarioFromIncident(lines)
		expect(scenarioFromIncident(lines.join('\n'))).toEqual(read)
		expect(scenarioFromIncident(`\uFEFF${lines.join('\r\n')}\r\n`)).toEqual(read)
		const reader = new IncidentReader()
		for (const line of lines) reader.add(`${line}\n`)
		expect(reader.finish()).toEqual(read)
	})

	test('that can not be read are counted, and the first of them is named', () => {
		const mixed = [
			'',
			lines[0] ?? '',
			'server listens on 8080',
			'{"type":"retry_success"',
			'{"type":"new_event","policy":"retry","timestamp":1}',
			'{"type":"retry_success","policy":"retry","timestamp":1767225600000,"attempts":1}',
			'{"type":"retry_success","policy":"retry","timestamp":"now","attempts":1,"durationMs":1}',
			'null',
			'[{}]',
			...lines.slice(1),
		]
		const { summary, scenario } = scenarioFromIncident(mixed)
		expect(summary.skipped).toEqual({
			unreadable: 7,
			first: { line: 3, why: 'not JSON' },
			others: 0,
			apart: 0,
		})
		expect(summary).toMatchObject({ lines: lines.length + 7, events: lines.length })
		expect(scenario).toEqual(scenarioFromIncident(lines).scenario)
	})

	test.each([
		[
			'',
			'Invalid option "lines": expected events as policy.subscribe gives them, one JSON object a line, got "no line"',
		],
		['\n \n', /Invalid option "lines": expected .*, got "no line"/],
		[
			'a\nb',
			/Invalid option "lines": expected .*, got "2 lines and no event among them: line 1 is not JSON"/,
		],
		[
			'\n{}',
			/Invalid option "lines": expected .*, got "1 lines and no event among them: line 2 is not an event"/,
		],
	])('are refused when no event is among them: %j', (text, message) => {
		expect(() => scenarioFromIncident(text)).toThrow(InvalidOptionError)
		expect(() => scenarioFromIncident(text)).toThrow(message)
	})

	test('are refused when they are no lines', () => {
		// @ts-expect-error that is not a text
		expect(() => scenarioFromIncident(7)).toThrow(
			'Invalid option "lines": expected a text, or lines to go through, got 7',
		)
	})
})

describe('events that do not suffice', () => {
	test('are refused when they tell only of calls that end badly', () => {
		const few = produce(WORLD, () => bulkhead({ maxConcurrent: 1, maxQueue: 0 })).lines
		expect(() => scenarioFromIncident(few)).toThrow(
			'Invalid option "lines": expected events of a retry or a circuit breaker, for those tell of every call, got "events of no policy that tells of calls which end well (only such as refuse or time out: bulkhead)"',
		)
	})

	test('are refused when they tell of no call at all', () => {
		const hedges = produce(WORLD, () => hedge({ delayMs: 1 })).lines
		expect(hedges.length).toBeGreaterThan(10)
		expect(() => scenarioFromIncident(hedges)).toThrow(
			/Invalid option "lines": expected .*, got "events that tell of no calls"/,
		)
	})

	test('are refused when nothing was ever answered', () => {
		const dead: World = { ...WORLD, faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] }
		expect(() => scenarioFromIncident(produce(dead, make).lines)).toThrow(
			/Invalid option "lines": expected .*, got "events in which no answer has a duration"/,
		)
	})
})

describe('events of several pipelines', () => {
	const users = named('users')
	const orders = named('orders', () => pipeline(circuitBreaker({ failureThreshold: 3 }), timeout(500)))
	const both = [...orders, ...users]

	test('are refused, with the names that there are', () => {
		expect(() => scenarioFromIncident(both)).toThrow(
			"Invalid option \"pipeline\": expected 'orders' or 'users', for the events are of several, got undefined",
		)
	})

	test('are told apart by the name', () => {
		const { summary, scenario } = scenarioFromIncident(both, { pipeline: 'users' })
		expect(summary).toMatchObject({ pipeline: 'users', events: users.length })
		// A change of state belongs to no pipeline.
		const told = orders.filter((line) => !line.includes('state_change'))
		expect(summary.skipped.filtered).toBe(told.length)
		expect(scenario.name).toBe('users')
		expect(readArrivals(scenario)).toHaveLength(calls)
	})

	test('may be of none, which has an empty name', () => {
		const mixed = [...lines, ...orders]
		expect(() => scenarioFromIncident(mixed)).toThrow(
			"Invalid option \"pipeline\": expected '' or 'orders', got undefined",
		)
		expect(scenarioFromIncident(mixed, { pipeline: '' }).summary.pipeline).toBeUndefined()
	})

	test('are refused when the name is none of them', () => {
		expect(() => scenarioFromIncident(both, { pipeline: 'user' })).toThrow(
			'Invalid option "pipeline": expected a pipeline of which there are events: \'orders\' or \'users\', got "user"',
		)
	})
})

describe('events of several policies that tell of calls', () => {
	const layers = () =>
		pipeline(retry({ name: 'outer' }), retry({ name: 'inner', maxRetries: 1 }), timeout(500))
	const nested = produce(WORLD, layers)

	test('are refused, with their names', () => {
		expect(() => scenarioFromIncident(nested.lines)).toThrow(
			'Invalid option "policy": expected a name or several, for the events of several policies tell of calls: inner, outer., got undefined',
		)
	})

	test('are read by the name of the outermost', () => {
		const { summary } = scenarioFromIncident(nested.lines, { policy: ['outer', 'timeout'] })
		expect(summary.calls.total).toBe(nested.truth.clients['web']?.calls)
		expect(summary.source.calls).toBe('outer')
	})

	test('are read together when they stand side by side', () => {
		const [left, right] = ['left', 'right'].map(
			(name) => produce(WORLD, () => circuitBreaker({ name, failureThreshold: 3 })).lines,
		)
		const { summary } = scenarioFromIncident([...(left ?? []), ...(right ?? [])], {
			policy: ['left', 'right'],
		})
		expect(summary.calls.total).toBe(2 * calls)
	})

	test('are refused when the name is none of them', () => {
		expect(() => scenarioFromIncident(lines, { policy: 'retries' })).toThrow(
			'Invalid option "policy": expected policies of which there are events: \'retry\', got "retries"',
		)
	})
})

describe('clocks', () => {
	const shifted = (ms: number) => (line: string) => {
		const event: { timestamp: number } = JSON.parse(line)
		return JSON.stringify({ ...event, timestamp: event.timestamp + ms })
	}

	test('that are hours off leave their events out, and that is said', () => {
		const stray = lines.slice(0, 100).map(shifted(-7_200_000))
		const { summary, scenario } = scenarioFromIncident([...stray, ...lines])
		expect(summary.skipped.outliers).toBe(100)
		expect(summary.caveats.join()).toContain('an hour or more apart')
		expect(scenario).toEqual(scenarioFromIncident(lines).scenario)
	})

	test('that begin in 1970 do not make an incident of half a century', () => {
		const epoch = shifted(-Date.UTC(2026, 0, 1))(lines[0] ?? '')
		expect(scenarioFromIncident([epoch, ...lines]).summary.skipped.outliers).toBe(1)
	})

	test('of several processes are put in order', () => {
		const later = produce(WORLD, make).lines.map(shifted(10_000))
		const at = readArrivals(scenarioFromIncident([...later, ...lines]).scenario)
		expect(at).toHaveLength(2 * calls)
		expect(at.every((one, index) => one >= (at[index - 1] ?? 0))).toBe(true)
	})

	test('that tell whole milliseconds, as real ones do, are good enough', () => {
		const whole = produce(WORLD, make, (event) => {
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
		[{ workers: 0 }, 'Invalid option "workers": expected a whole number, 1 or more, got 0'],
		[{ workers: 1.5 }, 'Invalid option "workers": expected a whole number, 1 or more, got 1.5'],
		[{ resolutionMs: 0 }, 'Invalid option "resolutionMs": expected a finite number, 1 or more, got 0'],
		[{ pipeline: 7 }, 'Invalid option "pipeline": expected a text, got 7'],
		[{ policy: [] }, 'Invalid option "policy": expected a name or a list of names, got []'],
		[
			{ policies: 'a' },
			'Invalid option "policies": expected nothing, for there is no such field here, got "a"',
		],
		[7, 'Invalid option "options": expected an object, got 7'],
	])('%j are refused', (options, message) => {
		// @ts-expect-error some of them are of the wrong type
		expect(() => scenarioFromIncident(lines, options)).toThrow(message)
	})

	test('a resolution that is too fine for so long a time is refused', () => {
		const slow = Array.from({ length: 2_000 }, (_, index) =>
			JSON.stringify({
				type: 'success',
				policy: 'breaker',
				timestamp: 1e12 + index * 3_000_000,
				durationMs: 5,
			}),
		)
		expect(() => scenarioFromIncident(slow)).toThrow(
			'Invalid option "resolutionMs": expected 1200 or more, for the events are of 1666 hours, got 1000',
		)
		expect(readArrivals(scenarioFromIncident(slow, { resolutionMs: 60_000 }).scenario)).toHaveLength(2_000)
	})

	test('the resolution is how finely faults are looked for', () => {
		const [fault] = readService(scenarioFromIncident(lines, { resolutionMs: 100 }).scenario).faults ?? []
		expect(Math.abs((fault?.toMs ?? 0) - 25_000)).toBeLessThan(200)
	})
})
