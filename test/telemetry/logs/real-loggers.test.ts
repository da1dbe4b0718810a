/** Real pino and winston, and the console. */
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { describe, expect, test, vi } from 'vitest'
import winston from 'winston'
import { logger } from 'yaoki/telemetry'
import { attached } from '../source.ts'

/** A stream that stores what is written to it. */
function storingStream() {
	const chunks: string[] = []
	const stream = new Writable({
		write(chunk, _encoding, done) {
			chunks.push(String(chunk))
			done()
		},
	})
	const lines = () => chunks.join('').split('\n').slice(0, -1)
	return { stream, lines, parsed: () => lines().map((line) => JSON.parse(line)) }
}

const FACTS = { from: 'closed', to: 'open', key: 'tenant\n1' }
const FIELDS = {
	event: 'state_change',
	service: 'payments',
	emitter: 'retry',
	timestamp: '2026-01-01T00:00:00.000Z',
	...FACTS,
}

describe('pino', () => {
	test('gets fields and message, on one line', () => {
		const { stream, lines, parsed } = storingStream()
		attached(logger(pino(stream))).emit('state_change', FACTS)
		expect(lines()).toHaveLength(1)
		expect(parsed()).toEqual([
			expect.objectContaining({ ...FIELDS, level: 40, msg: 'payments: circuit open, was closed' }),
		])
	})

	test('pino with level info gets no debug lines', () => {
		const { stream, parsed } = storingStream()
		const { emit } = attached(logger(pino({ level: 'info' }, stream)))
		emit('retry_attempt')
		emit('relay_store_recovered')
		expect(parsed().map(({ level }) => level)).toEqual([30])
	})

	test('a child logger of pino keeps its bindings', () => {
		const { stream, parsed } = storingStream()
		attached(logger(pino(stream).child({ module: 'shop' }))).emit('relay_dead_letter', { cause: 'permanent' })
		expect(parsed()).toMatchObject([{ module: 'shop', level: 50, event: 'relay_dead_letter' }])
	})
})

describe('winston', () => {
	const winstonWith = (stream: Writable, options: winston.LoggerOptions = {}) =>
		winston.createLogger({
			level: 'debug',
			format: winston.format.json(),
			transports: [new winston.transports.Stream({ stream })],
			...options,
		})

	test('gets message and fields, on one line', async () => {
		const { stream, lines, parsed } = storingStream()
		const target = winstonWith(stream)
		attached(logger(target, { order: 'message-first' })).emit('state_change', FACTS)
		target.end()
		await new Promise((resolve) => target.on('finish', resolve))
		expect(lines()).toHaveLength(1)
		expect(parsed()).toEqual([{ ...FIELDS, level: 'warn', message: 'payments: circuit open, was closed' }])
	})

	test('winston with syslog levels gets warnings as `warning`', async () => {
		const { stream, parsed } = storingStream()
		const target = winstonWith(stream, { levels: winston.config.syslog.levels })
		attached(logger(target as object, { order: 'message-first' })).emit('relay_store_error')
		target.end()
		await new Promise((resolve) => target.on('finish', resolve))
		expect(parsed()).toMatchObject([{ level: 'warning', event: 'relay_store_error' }])
	})
})

describe('console', () => {
	test('gets one JSON line, with level and message', () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		attached(logger(console)).emit('state_change', FACTS)
		expect(warn.mock.calls).toEqual([[expect.any(String)]])
		const [[line]] = warn.mock.calls as [[string]]
		expect(line).not.toContain('\n')
		expect(JSON.parse(line)).toEqual({
			...FIELDS,
			level: 'warn',
			message: 'payments: circuit open, was closed',
		})
	})

	test('gets no character that a terminal would act on', () => {
		const error = vi.spyOn(console, 'error').mockImplementation(() => {})
		const errorMessage = 'a\u001b[31m\u009b2J\u2028\u202eb'
		attached(logger(console)).emit('relay_dead_letter', { errorMessage })
		const [[line]] = error.mock.calls as [[string]]
		expect(line).toMatch(/^[ -~]+$/)
		expect(JSON.parse(line)).toMatchObject({ errorMessage })
	})

	test('a console of a stream gets the same with order json', () => {
		const { stream, parsed } = storingStream()
		const target = new Console(stream)
		attached(logger(target, { order: 'json' })).emit('relay_store_recovered', { operation: 'claim' })
		expect(parsed()).toMatchObject([{ level: 'info', event: 'relay_store_recovered', operation: 'claim' }])
	})
})
