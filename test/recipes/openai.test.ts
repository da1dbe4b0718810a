import OpenAI from 'openai'
import { expect, test, vi } from 'vitest'
import { reset } from '../http/faults/steps.ts'
import { BUSY, headersOf, json, skipBackoff, startService } from './support/services.ts'

const HOST = 'api.openai.com'
const QUESTION = { model: 'gpt-5', messages: [{ role: 'user' as const, content: 'hi' }] }
const COMPLETION = json({ choices: [{ index: 0, message: { role: 'assistant', content: 'hello' } }] })

vi.stubEnv('OPENAI_API_KEY', 'none')
const { ai } = await import('./.cache/openai/ai.ts')

test('a completion is sent until it succeeds, and the SDK does not retry', async () => {
	const service = await startService(HOST, [BUSY, reset('request-head'), COMPLETION])
	const { choices } = await ai.chat.completions.create(QUESTION)
	expect(choices[0]?.message.content).toBe('hello')
	expect(service.requests).toHaveLength(3)
	expect(new Set(service.requests.map(({ body }) => body)).size).toBe(1)
	// The SDK counts its own retries in this header.
	expect(headersOf(service, 'x-stainless-retry-count')).toEqual(['0', '0', '0'])
})

test('after four attempts the SDK throws its own error', async () => {
	skipBackoff()
	const service = await startService(HOST, json({ error: { message: 'down' } }, 500))
	const error: unknown = await ai.responses.create({ model: 'gpt-5', input: 'hi' }).catch((thrown) => thrown)
	expect(error).toBeInstanceOf(OpenAI.InternalServerError)
	expect(service.requests).toHaveLength(4)
})

test('without a response the cause of the error of the SDK is that of the fetch', async () => {
	skipBackoff()
	const service = await startService(HOST, reset('request-head'))
	const error: unknown = await ai.chat.completions.create(QUESTION).catch((thrown) => thrown)
	expect(error).toBeInstanceOf(OpenAI.APIConnectionError)
	expect(error).toHaveProperty('cause.cause.code', 'ECONNRESET')
	expect(service.requests).toHaveLength(4)
})

test('a job is sent once', async () => {
	const service = await startService(HOST, json({ error: { message: 'down' } }, 500))
	const creating = ai.fineTuning.jobs.create({ model: 'gpt-5', training_file: 'file-1' })
	await expect(creating).rejects.toBeInstanceOf(OpenAI.InternalServerError)
	expect(service.requests).toHaveLength(1)
})

test('while the circuit is open the cause of the error of the SDK is that of the circuit', async () => {
	const service = await startService(
		HOST,
		json({ error: { message: 'down' } }, 500, { 'x-should-retry': 'false' }),
	)
	const failure = (): Promise<unknown> =>
		ai.chat.completions.create(QUESTION).catch((thrown: unknown) => thrown)
	for (let call = 0; call < 10; call++) await failure()
	const sent = service.requests.length
	const error = await failure()
	expect(error).toBeInstanceOf(OpenAI.APIConnectionError)
	expect(error).toHaveProperty('cause.code', 'YAOKI_CIRCUIT_OPEN')
	expect(service.requests).toHaveLength(sent)
})
