import { describe, expect, expectTypeOf, it } from 'vitest'
import { HttpError } from 'yaoki'
import * as http from 'yaoki/http'
import { recorder } from './recorder.ts'
import { failure } from './setup.ts'

describe('HttpError', () => {
	it('is the one class of failed statuses, with the response if a client threw it', async () => {
		const { client } = recorder(
			{ maxRetries: 0 },
			() => new Response('gone', { status: 410, headers: { 'x-a': '1' } }),
		)
		const error = await failure(client.get('https://api.example.com'))
		if (!(error instanceof HttpError)) throw error
		expect(error).toMatchObject({ name: 'HttpError', statusCode: 410, body: 'gone' })
		expect(error.response?.headers.get('x-a')).toBe('1')
		expectTypeOf(error.remainingMs).toEqualTypeOf<number | undefined>()
		expect(new HttpError(500).response).toBeUndefined()
		expect(http).not.toHaveProperty('HttpStatusError')
		expect(http.HttpError).toBe(HttpError)
	})
})
