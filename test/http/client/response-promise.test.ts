import { inspect } from 'node:util'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { classify, explain } from 'yaoki'
import { InvalidResponseError, type ResponsePromise } from 'yaoki/http'
import * as z from 'zod'
import type { StandardSchema } from '../../../src/core/options/standard-schema.ts'
import { recorder } from './recorder.ts'
import { failure } from './setup.ts'

const API = 'https://api.example.com'
const URL_7 = `${API}/users/7?key=secret`
const ada = () => Response.json({ id: 7, name: 'Ada' })

/** What `json()` failed with. */
async function invalid(response: Response, schema?: StandardSchema): Promise<InvalidResponseError> {
	const { client } = recorder({}, () => response)
	const sent = client.get(URL_7)
	const error = await failure(schema ? sent.json(schema) : sent.json())
	if (!(error instanceof InvalidResponseError)) throw new Error('another error', { cause: error })
	return error
}

describe('the promise of a client', () => {
	it('resolves with the response, or its text or JSON', async () => {
		const { client, sent } = recorder({}, ada)
		const response = await client.get(URL_7)
		expect(response).toBeInstanceOf(Response)
		expect(await response.json()).toEqual({ id: 7, name: 'Ada' })
		expect(await client.get(URL_7).text()).toBe('{"id":7,"name":"Ada"}')
		expect(await client.get(URL_7).json()).toEqual({ id: 7, name: 'Ada' })
		expect(sent).toHaveLength(3)
	})

	it('is a promise like any other', async () => {
		const { client } = recorder({}, ada)
		const promise = client.get(URL_7)
		expect(promise).toBeInstanceOf(Promise)
		expect(Object.getPrototypeOf(promise)).toBe(Promise.prototype)
		const order: string[] = []
		await promise.then(({ status }) => order.push(`then ${status}`)).finally(() => order.push('finally'))
		expect(order).toEqual(['then 200', 'finally'])
	})

	it('reads the body once for json() and text()', async () => {
		const { client } = recorder({}, ada)
		const promise = client.get(URL_7)
		const [value, text, response] = await Promise.all([promise.json(), promise.text(), promise])
		expect(JSON.parse(text)).toEqual(value)
		expect(response.status).toBe(200)
	})

	it.each(['get', 'head', 'post', 'put', 'patch', 'delete'] as const)('is returned by %s', async (method) => {
		const { client, sent } = recorder()
		expect(await client[method](API).text()).toBe('{}')
		expect(sent).toEqual([`${method.toUpperCase()} ${API}`])
	})

	it('sends accept: application/json for json() only, unless the request or the client has another one', async () => {
		const { client, headers } = recorder()
		await client.get(API).json()
		await client.get(API).text()
		await client.get(API)
		await client.get(API, { headers: { Accept: 'application/hal+json' } }).json()
		await client
			.extend({ headers: { accept: 'text/json' } })
			.get(API)
			.json()
		await client
			.extend({ headers: async () => ({}) })
			.get(API)
			.json()
		expect(headers.map(({ accept }) => accept)).toEqual([
			'application/json',
			undefined,
			undefined,
			'application/hal+json',
			'text/json',
			'application/json',
		])
	})

	it('rejects all that were derived from it, and nothing is unhandled if only json() or text() is awaited', async () => {
		const unhandled: unknown[] = []
		const listener = (reason: unknown) => unhandled.push(reason)
		process.on('unhandledRejection', listener)
		const { client } = recorder({}, () => new Response('no', { status: 404 }))
		const error = await failure(client.get(URL_7).json())
		expect(error).toMatchObject({ code: 'YAOKI_HTTP', statusCode: 404, body: 'no' })
		expect(await failure(client.get(URL_7).text())).toMatchObject({ statusCode: 404 })
		expect(await failure(client.get('nowhere').json())).toBeInstanceOf(TypeError)
		// Unhandled rejections are reported after the microtasks.
		await new Promise((resolve) => setImmediate(resolve))
		process.off('unhandledRejection', listener)
		expect(unhandled).toEqual([])
	})
})

describe('json() of a response', () => {
	it.each([
		['a 204', () => new Response(null, { status: 204 }), 'an empty body (HTTP 204, no content-type)'],
		[
			'an empty body',
			() => new Response('', { headers: { 'content-type': 'application/json' } }),
			'an empty body (HTTP 200, application/json)',
		],
		[
			'a page',
			() =>
				new Response('<!doctype html>\n\t<title>Please log in', { headers: { 'content-type': 'text/html' } }),
			'"<!doctype html> <title>Please log in" (HTTP 200, text/html)',
		],
		[
			'a long page',
			() => new Response('<p>'.repeat(1_000), { headers: { 'content-type': 'text/html' } }),
			`"${'<p>'.repeat(20)}..." (HTTP 200, text/html)`,
		],
	])('json() of a response that is %s rejects and says so', async (_, response, got) => {
		const error = await invalid(response())
		expect(error.message).toBe(`GET ${API}/users/7: expected JSON, got ${got}`)
		expect(error).toMatchObject({ name: 'InvalidResponseError', code: 'YAOKI_INVALID_RESPONSE' })
		expect(error).toMatchObject({ method: 'GET', url: `${API}/users/7`, issues: undefined })
	})

	it.each(['access_token=hunter2', '{"password":"hunter2', 'token: hunter2'])(
		'that is not JSON does not show what may be a secret: %s',
		async (body) => {
			const error = await invalid(new Response(body))
			expect(inspect(error)).not.toContain('hunter2')
			expect(String(error.cause)).not.toContain('hunter2')
		},
	)

	it('ignores a byte order mark', async () => {
		const { client } = recorder({}, () => new Response('\ufeff{"id":7}'))
		expect(await client.get(API).json()).toEqual({ id: 7 })
	})

	it('is not retried and does not count for the breaker if it is not JSON', async () => {
		const { client, sent } = recorder({ circuitBreaker: { failureThreshold: 1 } }, () => new Response('<p>'))
		const error = await failure(client.get(API).json())
		expect(classify(error)).toMatchObject({ kind: 'permanent', isKnown: true })
		expect(explain(error)?.attempts).toMatchObject([{ outcome: 'success' }])
		expect(sent).toHaveLength(1)
		expect(client.circuitBreaker(API)?.currentState).toBe('closed')
	})
})

const User = z.object({ id: z.number(), name: z.string().transform((name) => name.toUpperCase()) })
const Person = v.object({ id: v.string(), name: v.string(), pets: v.array(v.object({ name: v.string() })) })

describe('json(schema)', () => {
	it('returns what the schema returns, also if that is asynchronous', async () => {
		const { client } = recorder({}, ada)
		expect(await client.get(API).json(User)).toEqual({ id: 7, name: 'ADA' })
		const slow = User.refine(async ({ id }) => id === 7)
		expect(await client.get(API).json(slow)).toEqual({ id: 7, name: 'ADA' })
		expect(await client.get(API).json(v.object({ id: v.number() }))).toEqual({ id: 7 })
	})

	const secrets = { id: 4242, name: 'hunter2', pets: [{ name: 'Rex' }, { name: 777_777 }] }
	it.each([
		['zod', z.object({ id: z.string(), name: z.number() }), secrets, '2 issues, at id, name'],
		['valibot', Person, secrets, '2 issues, at id, pets.1.name'],
		['an async schema', z.looseObject({}).refine(async () => false), secrets, '1 issue, at the top level'],
		['many issues', z.array(z.string()), [4242, 4242, 4242, 4242], '4 issues, at 0, 1, 2, ...'],
	])('rejects without the body in the message or in a log: %s', async (_, schema, body, what) => {
		const error = await invalid(Response.json(body), schema)
		expect(error.message).toBe(
			`GET ${API}/users/7: the body does not match the schema: ${what} (HTTP 200, application/json)`,
		)
		expect(error.issues?.[0]).toHaveProperty('message')
		for (const log of [inspect(error), JSON.stringify(error)]) expect(log).not.toMatch(/4242|hunter2|777777/)
		expect(classify(error).kind).toBe('permanent')
	})

	it('rejects with the error of a schema that throws', async () => {
		const problem = new Error('broken schema')
		const { client } = recorder({}, ada)
		const broken: StandardSchema = {
			'~standard': {
				version: 1,
				vendor: 'test',
				validate: () => {
					throw problem
				},
			},
		}
		expect(await failure(client.get(API).json(broken))).toBe(problem)
	})

	it.each([null, {}, { parse() {} }, 'User'])('rejects %s, which is not a schema', async (given) => {
		const { client } = recorder({}, ada)
		const schema: unknown = given
		const error = await failure(client.get(API).json(schema as StandardSchema))
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_ARGUMENT', argument: 'schema' })
	})
})

it('has the types of what is read', () => {
	const types = (promise: ResponsePromise) => ({
		plain: promise.json(),
		given: promise.json<{ id: number }>(),
		zod: promise.json(User),
		valibot: promise.json(Person),
		text: promise.text(),
		response: promise.then((response) => response),
	})
	expectTypeOf<ReturnType<typeof types>>().toEqualTypeOf<{
		plain: Promise<unknown>
		given: Promise<{ id: number }>
		zod: Promise<{ id: number; name: string }>
		valibot: Promise<{ id: string; name: string; pets: { name: string }[] }>
		text: Promise<string>
		response: Promise<Response>
	}>()
	expect(types).toBeTypeOf('function')
})
