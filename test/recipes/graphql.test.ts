import { ClientError } from 'graphql-request'
import { expect, test } from 'vitest'
import { reset } from '../http/faults/steps.ts'
import { graphql } from './.cache/graphql/graphql.ts'
import { BUSY, json, skipBackoff, startService } from './support/services.ts'

const HOST = 'api.example.com'
const USER = json({ data: { user: { name: 'Ada' } } })

test.each(['query { user { name } }', '{ user { name } }', '\n  query User { user { name } }'])(
	'the query %j is sent until it succeeds',
	async (document) => {
		const service = await startService(HOST, [BUSY, reset('request-head'), USER])
		expect(await graphql.request(document)).toEqual({ user: { name: 'Ada' } })
		expect(service.requests).toHaveLength(3)
	},
)

test.each([
	'mutation { pay { id } }',
	'query User { user { name } }\nmutation Pay { pay { id } }',
	'fragment Name on User { name }\nmutation { pay { id } }',
])('%j is sent once', async (document) => {
	const service = await startService(HOST, [json({}, 503), USER])
	await expect(graphql.request(document)).rejects.toBeInstanceOf(ClientError)
	expect(service.requests).toHaveLength(1)
})

test('a batch is sent once, because it may contain mutations', async () => {
	const service = await startService(HOST, [json({}, 503), USER])
	const documents = [{ document: '{ user { name } }' }, { document: 'mutation { pay { id } }' }]
	await expect(graphql.batchRequests(documents)).rejects.toBeInstanceOf(ClientError)
	expect(service.requests).toHaveLength(1)
})

test('after four attempts graphql-request throws its own error', async () => {
	skipBackoff()
	const service = await startService(HOST, json({}, 500))
	const error: unknown = await graphql.request('{ user { name } }').catch((thrown) => thrown)
	expect(error).toHaveProperty('response.status', 500)
	expect(service.requests).toHaveLength(4)
})
