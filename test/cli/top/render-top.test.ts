import { describe, expect, test } from 'vitest'
import { createStyle } from '../../../src/cli/reporter.ts'
import { renderTop } from '../../../src/cli/top/render-top.ts'
import { PLAIN } from '../../../src/text/style.ts'
import { displayWidth } from '../../../src/text/width.ts'
import { EMPTY, OVERVIEW } from './setup.ts'

const render = (overview = OVERVIEW, columns = 140, style = PLAIN): string =>
	renderTop('http://shop', overview, { style, columns }).join('\n')

/** The cells of the row that starts with this name. */
const row = (name: string): string[] =>
	(
		render()
			.split('\n')
			.find((line) => line.startsWith(name)) ?? ''
	).split(/ {3,}/)

describe('the text of top', () => {
	test('starts with the process and with what is wrong, as sentences', () => {
		const [head, error, warning] = render().split('\n')
		expect(head).toBe('http://shop: process 4711 on shop-1, up 5 min')
		expect(error).toMatch(/^× payments: circuit .*open for 40 s, 12 calls\/s rejected; last error HTTP 503/)
		expect(warning).toMatch(/^! outbox: no running relay serves \d/)
	})

	test('has a row for each circuit, retry, limit, destination and relay', () => {
		expect(row('payments/circuitBreaker (eu)')).toEqual([
			...['payments/circuitBreaker (eu)', 'open', '20', '75 %', '12.0', '40 s', '5 s', 'HTTP 503'],
		])
		expect(row('payments   ')).toEqual(['payments', '3.3', '50 %', '1.5', '2.0', '12.0', '▁▁▅█'])
		expect(row('payments/bulkhead')).toEqual(['payments/bulkhead', 'bulkhead', '10', '10', '4', '-', '-'])
		expect(row('billing')).toEqual([
			...['billing', 'paused', '10,000+', '42 s', '2', '3', '16', '90 s', '25 %'],
		])
		expect(row('mail')[1]).toBe('circuit open, 9 s')
		expect(row('all')[1]).toBe('88.5 sent/s')
		expect(row('shop-2:12')).toEqual(['shop-2:12', 'alive', '16', '1,200', '8', '2', '88.5', '1 s ago'])
		expect(render()).toContain('More destinations are not shown.')
	})

	test('has a row for webhooks, inboxes, idempotency and jobs', () => {
		expect(row('hooks')).toEqual(['hooks', '5', '1', '3', '2 h'])
		expect(row('stripe')).toEqual(['stripe', '99', '0', '24 h'])
		expect(row('keys')).toEqual(['keys', '5', '1', '0', 'running 2, unstored 0'])
		expect(row('replay')).toEqual(['replay', 'outbox', 'ada', 'running', '40', '100'])
	})

	test('is two lines if nothing is wrong and nothing is observed', () => {
		const lines = render({ ...EMPTY, isDatabaseOnly: true }).split('\n')
		expect(lines).toHaveLength(2)
		expect(lines[0]).toBe('http://shop: what the database knows')
		expect(lines[1]).toMatch(/^Nothing is wrong/)
	})

	test.each([40, 60, 80, 200])('no line is wider than a terminal of %i columns', (columns) => {
		for (const line of render(OVERVIEW, columns).split('\n'))
			expect(displayWidth(line), line).toBeLessThan(columns)
	})

	test('shows control characters and changes of the writing direction as a replacement', () => {
		const hostile = '\x1b[2J\x07\u202Eevil\r\n'
		const [circuit] = OVERVIEW.circuits
		const [problem] = OVERVIEW.problems
		const text = render({
			...OVERVIEW,
			process: { ...OVERVIEW.process, host: hostile },
			problems: problem ? [{ ...problem, source: hostile }] : [],
			circuits: circuit ? [{ ...circuit, name: hostile, key: hostile, lastError: hostile }] : [],
		})
		expect(text).toContain('evil')
		expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202A-\u202E]/u)
	})

	test('an error is red and a warning yellow, and each line ends its color', () => {
		const text = render(OVERVIEW, 60, createStyle(true))
		expect(text).toContain('\x1b[31m× payments')
		expect(text).toContain('\x1b[33m! outbox')
		for (const line of text.split('\n')) if (line.includes('\x1b')) expect(line).toMatch(/\[(22|39)m$/)
	})
})
