/** Compares the pages about HTTP with the code. */
import { METHODS } from 'node:http'
import { expect, test } from 'vitest'
import { addRetryAfterJitter } from '../../src/core/retry/decision.ts'
import {
	deadlineHeaderNames,
	isDeadlineHeader,
	RECEIVED_DEADLINES,
	writeDeadline,
} from '../../src/http/headers/deadline-headers.ts'
import { readQuota } from '../../src/http/headers/rate-limit-headers.ts'
import { RETRIES_EXHAUSTED, RETRY_ATTEMPT, RETRY_LAYER } from '../../src/http/headers/retry-headers.ts'
import { CLIENT_BULKHEAD, HTTP_SCHEMA, readHttpOptions } from '../../src/http/options/http-options.ts'
import { isIdempotentMethod, isSafeMethod } from '../../src/http/transport/request.ts'
import { named, page, table } from './markdown.ts'

const http = page('docs/guide/http.md')
const reference = page('docs/guide/http-reference.md')
const services = page('docs/guide/across-services.md')
const retryAfter = page('docs/guide/retry-after.md')

/** The names in the first column, without the parameters of functions. */
const firsts = (rows: readonly (readonly string[])[]): readonly string[] =>
	rows.flatMap(([cell = '']) => named(cell)).map((name) => name.replace(/\(.*/, ''))
const defaultOf = (option: string): string | undefined =>
	table(reference, 'option', 'default').find(([cell = '']) => named(cell)[0] === option)?.[1]

test('defaults that depend on others or are objects match the code', () => {
	const settings = readHttpOptions({}, HTTP_SCHEMA, 'resilientFetch')
	expect(defaultOf('totalTimeoutMs')).toBe(settings.totalTimeoutMs.toLocaleString('en-US'))
	const vetoes = settings.vetoes.map(([name, value]) => `'${name}': '${value}'`)
	expect(defaultOf('retryVetoHeaders')).toBe(`\`{ ${vetoes.join(', ')} }\``)
	const { maxConcurrent, maxQueue } = CLIENT_BULKHEAD
	expect(reference.text).toContain(
		`A client's default: ${maxConcurrent} concurrent requests, a queue of ${maxQueue}.`,
	)
})

test('parts are on or off by default as documented', () => {
	const { circuitBreaker, bulkhead, budget, hedge, honorRateLimit } = readHttpOptions(
		{},
		HTTP_SCHEMA,
		'resilientFetch',
	)
	for (const [name, value] of Object.entries({ circuitBreaker, budget, hedge, honorRateLimit }))
		expect(defaultOf(name), name).toBe(value ? 'on' : 'off')
	expect(bulkhead).toBeUndefined()
	expect(readHttpOptions({}, HTTP_SCHEMA, 'ResilientHttpClient', CLIENT_BULKHEAD).bulkhead).toBe(
		CLIENT_BULKHEAD,
	)
	expect(defaultOf('bulkhead')).toBe('on for a client, off for `resilientFetch`')
})

test('methods are repeated and hedged as documented', () => {
	const rows = table(http, 'method').map(([methods = '', repeated = '', hedged]) =>
		named(methods).map((method) => [method, repeated === 'retried', hedged === 'yes']),
	)
	for (const [method, isRepeated, isHedged] of rows.flat())
		expect([method, isIdempotentMethod(String(method)), isSafeMethod(String(method))]).toEqual([
			method,
			isRepeated,
			isHedged,
		])
	const known = METHODS.filter((method) => isIdempotentMethod(method))
	expect(known.length).toBeGreaterThan(5)
	expect(rows.flat().map(([method]) => method)).toEqual(expect.arrayContaining(known))
})

test('quota headers match the code', () => {
	// A family of headers is read only if its first header is present, so each name that was read is set in turn.
	const read = new Set<string>()
	const readWith = (present: string) => {
		const get = (name: string) => {
			read.add(name)
			return name === present ? '1' : null
		}
		readQuota({ get }, 0)
	}
	readWith('')
	for (const name of read) readWith(name)
	const quotaHeaders = [...read].filter((name) => name !== 'date')
	expect([...firsts(table(retryAfter, 'headers'))].sort()).toEqual(quotaHeaders.sort())
})

test('deadline headers match the code', () => {
	const rows = table(services, '`deadlineHeader`')
	expect(firsts(rows).join(', ')).toBe(deadlineHeaderNames())
	const understood = rows.filter(([, , cell]) => cell === 'yes')
	expect(firsts(understood)).toEqual(RECEIVED_DEADLINES)
	for (const [name = '', form = ''] of rows) {
		const [header = ''] = named(name)
		const [example] = named(form)
		if (isDeadlineHeader(header) && example) expect(writeDeadline(header, 1_500)).toBe(example)
	}
})

test('headers between services match the code', () => {
	const [deadline, ...others] = firsts(table(services, 'header', 'on a'))
	expect(deadline).toBe(readHttpOptions({}, HTTP_SCHEMA, 'resilientFetch').deadlineHeader)
	expect(others).toEqual([RETRY_ATTEMPT, RETRY_LAYER, RETRIES_EXHAUSTED])
})

test('the jitter on top of Retry-After is the documented one', () => {
	const documented = retryAfter.text.replaceAll(/\s+/g, ' ')
	expect(documented).toContain('up to a quarter of it, or up to 100 ms if that is more')
	const most = { random: () => 1 }
	expect([0, 400, 4_000].map((waitMs) => addRetryAfterJitter(waitMs, most) - waitMs)).toEqual([
		100, 100, 1_000,
	])
})
