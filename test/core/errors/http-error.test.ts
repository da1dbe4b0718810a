import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classify, HttpError } from 'yaoki'

describe('the message of an HttpError', () => {
	test('quotes a text on one line, so that a log shows the reason', () => {
		const error = new HttpError(503, 'maintenance\r\n\tuntil  noon\u0000\n')
		expect(error.message).toBe('HTTP 503: maintenance until noon')
		expect(error.body).toBe('maintenance\r\n\tuntil  noon\u0000\n')
	})

	test('quotes the first 200 characters', () => {
		expect(new HttpError(503, 'x'.repeat(10_000)).message).toBe(`HTTP 503: ${'x'.repeat(200)}`)
	})

	test('does not end with half a character', () => {
		expect(new HttpError(503, `${'x'.repeat(199)}🙂`).message).toBe(`HTTP 503: ${'x'.repeat(199)}`)
	})

	test.each([undefined, null, '', ' \n ', { reason: 'no' }, 7, new Uint8Array(3)])(
		'has only the status for %j',
		(body) => {
			expect(new HttpError(503, body)).toMatchObject({ message: 'HTTP 503', body })
		},
	)

	test('has one line and at most 210 characters, for any text', () => {
		fc.assert(
			fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (body) => {
				const { message } = new HttpError(500, body)
				expect(message).toMatch(/^[^\p{Cc}\u2028\u2029]{8,210}$/u)
			}),
		)
	})

	test('does not decide what the error means', () => {
		expect(classify(new HttpError(404, 'timed out, too many requests')).kind).toBe('permanent')
		expect(classify(new HttpError(503, 'is not a function')).kind).toBe('throttled')
	})
})
