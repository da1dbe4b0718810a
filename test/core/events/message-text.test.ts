import { describe, expect, it } from 'vitest'
import { explain, retry, type YaokiEvent } from 'yaoki'
import { MAX_MESSAGE_LENGTH, reduceUrls } from '../../../src/core/events/error-facts.ts'

describe('a URL in a message', () => {
	it.each([
		['https://example.com/a?token=s3cret', 'https://example.com/a'],
		['https://ann:s3cret@example.com/a', 'https://example.com/a'],
		['https://ann:s3cr@t@example.com', 'https://example.com'],
		['postgres://ann:s3cret@db.example.com:5432/orders?sslmode=no', 'postgres://db.example.com:5432/orders'],
		['https://example.com/a#s3cret', 'https://example.com/a'],
		['https://example.com/@ann/post', 'https://example.com/@ann/post'],
		['cannot reach "http://a/?s3cret" or \'http://b/?s3cret\'', 'cannot reach "http://a/" or \'http://b/\''],
		['got http://a/b?c=1 then x?y=2', 'got http://a/b then x?y=2'],
		['postgres://ann:s3#cret@db/orders', 'postgres://'],
		['postgres://ann:s3?cret@db/orders', 'postgres://'],
		['postgres://ann:s3/cret@db/orders?x=1', 'postgres://'],
		['at postgres://ann:s3"cret@db/orders now', 'at postgres://db/orders now'],
		['http://shop:3000/users?mail=ann@example.com&token=s3cret', 'http://'],
		['{"a":"http://a/?s3cret","b":"http://ann:s3cret@b/"}', '{"a":"http://a/","b":"http://b/"}'],
		['https://s3cret@example.com/a', 'https://example.com/a'],
		['http://shop/users?mail=ann@example.com&token=s3cret', 'http://shop/users'],
	])('%s is reduced to origin and path', (text, reduced) => {
		expect(reduceUrls(text)).toBe(reduced)
	})

	it('shows no part of a password that has characters which should have been encoded', () => {
		const special = ['#', '?', '/', '"', "'", '<', '>', '@', ':', '%', '\\', '&']
		for (const first of special)
			for (const second of special) {
				const password = `s3cr${first}t0p${second}hidden`
				const text = reduceUrls(`connect postgres://ann:${password}@db.example.com/orders failed`)
				expect(text, password).not.toMatch(/s3cr|t0p|hidden/)
				expect(text, password).toMatch(/^connect postgres:\/\/.* failed$/)
			}
	})

	it('is found in linear time, whatever the text', () => {
		for (const part of ['://', '://@', '://?', 'a://b@', 'aaaa']) {
			const text = part.repeat(200_000)
			expect(reduceUrls(text).length).toBeLessThanOrEqual(text.length)
		}
	})
})

describe('events and explain', () => {
	const failing = async (message: string) => {
		const policy = retry({ maxRetries: 0 })
		const events: YaokiEvent[] = []
		policy.subscribe((event) => events.push(event))
		const error = new Error(message, { cause: new Error('at https://ann:s3cret@example.com/?s3cret') })
		await policy.execute(() => Promise.reject(error)).catch(() => {})
		return { text: JSON.stringify(events) + String(explain(error)), error, explained: explain(error) }
	}

	it('show no credentials and no query, and the error itself is unchanged', async () => {
		const { text, error } = await failing('GET https://example.com/a?token=s3cret failed')
		expect(text).toContain('GET https://example.com/a failed: at https://example.com/')
		expect(text).not.toContain('s3cret')
		expect(error.message).toContain('s3cret')
	})

	it('truncate long messages', async () => {
		const { explained } = await failing('x'.repeat(1_000_000))
		expect(explained?.attempts[0]?.errorMessage).toBe(`${'x'.repeat(MAX_MESSAGE_LENGTH)}...`)
	})
})
