import { describe, expect, it, test } from 'vitest'
import { InvalidArgumentError, InvalidOptionError } from 'yaoki'
import { type LoadCurveFromCsvOptions, loadCurveFromCsv, simulate } from 'yaoki/sim'
import { readRows } from '../../../src/sim/load/csv.ts'
import { setup, web } from '../setup.ts'

const points = (csv: string, options?: LoadCurveFromCsvOptions) =>
	loadCurveFromCsv(csv, options).arrivals.points.map(({ atMs, perSecond }) => [atMs, perSecond])
const summary = (csv: string, options?: LoadCurveFromCsvOptions) => loadCurveFromCsv(csv, options).summary

/** The message of the error. */
function rejected(csv: unknown, options?: unknown): string {
	try {
		loadCurveFromCsv(csv as string, options as LoadCurveFromCsvOptions)
	} catch (error) {
		if (error instanceof InvalidOptionError || error instanceof InvalidArgumentError) return error.message
		throw error
	}
	return expect.unreachable('it was accepted')
}

describe('times', () => {
	it('start at the first value, in seconds', () => {
		expect(points('time,rps\n100,5\n160,10\n220,7')).toEqual([
			[0, 5],
			[60_000, 10],
			[120_000, 7],
		])
	})

	it('are recognized as milliseconds by the column, or by their size', () => {
		const expected = [
			[0, 5],
			[500, 10],
		]
		for (const name of ['time_ms', 'ms', 'atMs', 'timestamp (ms)'])
			expect(points(`${name},rps\n1000,5\n1500,10`)).toEqual(expected)
		expect(points('time,rps\n1770000000000,5\n1770000000500,10')).toEqual(expected)
		expect(points('time,rps\n1000,5\n1500,10', { timeUnit: 'milliseconds' })).toEqual(expected)
		expect(points('time_ms,rps\n1,5\n2,10', { timeUnit: 'seconds' })).toEqual([
			[0, 5],
			[1_000, 10],
		])
	})

	it('have the zone that a date names, else UTC', () => {
		const csv = 'time,rps\n2026-02-01 10:00:00,5\n2026-02-01T10:01:00Z,10\n2026-02-01T12:02:00+02:00,7'
		expect(points(csv)).toEqual([
			[0, 5],
			[60_000, 10],
			[120_000, 7],
		])
		expect(summary(csv)).toMatchObject({
			startsAt: '2026-02-01T10:00:00.000Z',
			source: 'time as dates, rps as calls per second',
		})
		expect(points('day,rate\n2026-02-01,5\n2026-02-02,6')).toEqual([
			[0, 5],
			[86_400_000, 6],
		])
	})

	it('may be in any order', () => {
		expect(points('time,rps\n2,7\n1,6\n0,5')).toEqual([
			[0, 5],
			[1_000, 6],
			[2_000, 7],
		])
	})
})

describe('columns', () => {
	it('are found by name, in any order and with other columns', () => {
		const csv = 'host,requests_per_second,errors,timestamp\na,5,0,0\na,6,1,1'
		expect(points(csv)).toEqual([
			[0, 5],
			[1_000, 6],
		])
		expect(points(csv, { valueColumn: 'errors' })).toEqual([
			[0, 0],
			[1_000, 1],
		])
	})

	it('are the first two without a header', () => {
		expect(summary('0,5\n1,6').source).toBe('column 1 in seconds, column 2 as calls per second')
		expect(points('2026-02-01T10:00Z,5\n2026-02-01T10:01Z,6')[1]).toEqual([60_000, 6])
	})

	it('become rates that keep the number of calls, if they are counts', () => {
		const csv = 'time,requests\n0,600\n60,1200\n120,300\n180,0'
		const { arrivals, summary } = loadCurveFromCsv(csv)
		expect(summary.source).toContain('requests as calls from each time to the next')
		expect(arrivals).toMatchObject({
			interpolation: 'steps',
			points: [{ perSecond: 10 }, { perSecond: 20 }, {}, {}],
		})
		const even = { ...arrivals, spacing: 'even' } as const
		expect(web(simulate(setup({ api: { workers: 99 }, web: { arrivals: even } }))).calls).toBe(2_100)
	})

	it('count for one interval before a gap, if they are counts', () => {
		expect(points('time,calls\n0,60\n60,60\n300,60\n360,60').map(([, rate]) => rate)).toEqual([1, 1, 1, 1])
	})

	it('are read as the options say', () => {
		expect(points('time,requests\n0,5\n1,6', { values: 'rate' })[1]).toEqual([1_000, 6])
		expect(points('time,x\n0,5\n10,6', { values: 'count' })[0]).toEqual([0, 0.5])
		expect(points('a,time,rps\n0,9,5\n1,8,6', { timeColumn: 'a' })).toEqual([
			[0, 5],
			[1_000, 6],
		])
	})
})

describe('a missing value', () => {
	const csv = 'time,rps\n0,5\n1,\n2,NaN\n3,10\n4,11\n5,12\n6,13'

	it('is interpolated and reported', () => {
		expect(points(csv).slice(0, 2)).toEqual([
			[0, 5],
			[3_000, 10],
		])
		expect(summary(csv)).toMatchObject({ missing: 2, values: 5, gaps: [{ fromMs: 0, toMs: 3_000 }] })
	})

	it('is no load if the options say so', () => {
		expect(points(csv, { gaps: 'zero' }).slice(0, 5)).toEqual([
			[0, 5],
			[1_000, 5],
			[1_000, 0],
			[3_000, 0],
			[3_000, 10],
		])
	})
})

describe('options', () => {
	const csv = 'time,rps\n0,100\n60,200\n120,300'

	it('scale all rates', () => {
		expect(summary(csv, { scale: 0.1 })).toMatchObject({
			minPerSecond: 10,
			meanPerSecond: 20,
			maxPerSecond: 30,
		})
	})

	it('repeat the curve one interval after its last value', () => {
		expect(loadCurveFromCsv(csv, { repeat: true }).arrivals.repeatEveryMs).toBe(180_000)
		expect(loadCurveFromCsv(csv).arrivals.repeatEveryMs).toBeUndefined()
		expect(summary(csv)).toMatchObject({
			lengthMs: 180_000,
			intervalMs: 60_000,
			startsAt: null,
			missing: 0,
			gaps: [],
		})
	})

	it('choose the interpolation', () => {
		expect(loadCurveFromCsv(csv).arrivals.interpolation).toBe('linear')
		expect(loadCurveFromCsv(csv, { interpolation: 'steps' }).arrivals.interpolation).toBe('steps')
	})

	it('are validated', () => {
		expect(rejected(csv, { scales: 2 })).toContain('Did you mean "scale"?')
		expect(rejected(csv, { scale: 0 })).toContain('"scale"')
		expect(rejected(csv, { gaps: 'none' })).toContain("'interpolate' or 'zero'")
		expect(rejected(csv, { repeat: 1 })).toContain('true or false')
		expect(rejected(csv, { values: 'sum' })).toContain("'rate' or 'count'")
		expect(rejected(csv, { timeUnit: 'hours' })).toContain("'seconds' or 'milliseconds'")
		expect(rejected(csv, { interpolation: 'cubic' })).toContain("'linear' or 'steps'")
		expect(rejected(csv, { timeColumn: 'when' })).toContain("'time' or 'rps'")
		expect(rejected(csv, 5)).toContain('"options": expected an object')
	})
})

describe('an error', () => {
	it.each([
		['time,rps\n0,5\n1,many', 'csv, line 3, rps": expected a number of 0 or more, got "many"'],
		['time,rps\n0,5\n\n1,-2', 'csv, line 4, rps'],
		['time,rps\n0,5\nnoon,6', 'csv, line 3, time": expected a number or a time in ISO 8601, got "noon"'],
		['time,rps\n2026-13-45,5\n1,6', 'csv, line 2, time'],
		['time,rps\n-1,5\n1,6', 'csv, line 2, time'],
		['time,rps\n0,5\n1,6\n0,7', 'csv, line 4": expected each time once in time'],
		['time,rps\n0,"5\n1,6', 'csv, line 2": expected a closing quote'],
	])('names the line: %j', (csv, message) => {
		expect(rejected(csv)).toContain(message)
	})

	it('names the columns if it is not clear which one is meant', () => {
		expect(rejected('time,a,b\n0,1,2\n1,2,3')).toContain("\"valueColumn\": expected one of 'a' or 'b'")
	})

	it('asks for values', () => {
		expect(rejected('')).toContain('at least two rows')
		expect(rejected('time,rps\n0,5')).toContain('at least two values')
		expect(rejected('time,rps\n0,0\n1,0')).toContain('at least one value above 0')
		expect(rejected(7)).toContain('CSV text')
	})
})

describe('rows', () => {
	const cells = (csv: string) => readRows(csv).map((row) => row.cells)

	it('have cells separated by commas, semicolons or tabs, in quotes where needed', () => {
		expect(cells('a,b\n1,2\r\n"x, ""y""",\n')).toEqual([
			['a', 'b'],
			['1', '2'],
			['x, "y"', ''],
		])
		expect(cells('a;b,c;d\n1;2;3')).toEqual([
			['a', 'b,c', 'd'],
			['1', '2', '3'],
		])
		expect(cells('\uFEFFa\tb\n1\t2')[0]).toEqual(['a', 'b'])
	})

	it('know their line, also after a line break in quotes', () => {
		expect(readRows('"a\nb",c\n\n1,2\n').map(({ line }) => line)).toEqual([1, 4])
	})
})

test('a wrong text is an invalid argument, a wrong column an invalid option', () => {
	expect(() => loadCurveFromCsv('time,rps\n0,one\n1,2')).toThrow(InvalidArgumentError)
	expect(() => loadCurveFromCsv('time,rps\n0,1\n1,2', { valueColumn: 'calls' })).toThrow(InvalidOptionError)
})
