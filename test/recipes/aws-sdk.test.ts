import { GetItemCommand, ThrottlingException, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { expect, test, vi } from 'vitest'
import { reset } from '../http/faults/steps.ts'
import { BUSY, headersOf, json, skipBackoff, startService } from './support/services.ts'

const HOST = 'dynamodb.eu-central-1.amazonaws.com'
const READ = new GetItemCommand({ TableName: 'orders', Key: { id: { S: 'o-1' } } })
const ITEM = json({ Item: { id: { S: 'o-1' } } })
const failed = (type: string, status = 400) =>
	json({ __type: `com.amazonaws.dynamodb.v20120810#${type}` }, status)

vi.stubEnv('AWS_ACCESS_KEY_ID', 'none')
vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'none')
const { dynamodb } = await import('./.cache/aws-sdk/dynamodb.ts')

test('a read is sent until it succeeds, also after throttling with status 400', async () => {
	const throttled = failed('ProvisionedThroughputExceededException')
	const service = await startService(HOST, [BUSY, reset('request-head'), throttled, ITEM])
	const { Item } = await dynamodb.send(READ)
	expect(Item).toEqual({ id: { S: 'o-1' } })
	expect(service.requests).toHaveLength(4)
	expect(new Set(headersOf(service, 'authorization')).size).toBe(1)
	expect(headersOf(service, 'amz-sdk-request').at(-1)).toBe('attempt=1; max=1')
})

test('all attempts of a transaction have the same client token', async () => {
	skipBackoff()
	const service = await startService(HOST, [json({}, 500), reset('request-head'), json({})])
	const Put = { TableName: 'orders', Item: { id: { S: 'o-1' } } }
	await dynamodb.send(new TransactWriteItemsCommand({ TransactItems: [{ Put }] }))
	const tokens = service.requests.map(({ body }) => JSON.parse(body).ClientRequestToken)
	expect(tokens).toHaveLength(3)
	expect(tokens[0]).toEqual(expect.any(String))
	expect(new Set(tokens).size).toBe(1)
})

test('after four attempts the SDK throws its own error', async () => {
	skipBackoff()
	const service = await startService(HOST, failed('ThrottlingException'))
	await expect(dynamodb.send(READ)).rejects.toBeInstanceOf(ThrottlingException)
	expect(service.requests).toHaveLength(4)
})

test('any other 400 is sent once', async () => {
	const service = await startService(HOST, failed('ValidationException'))
	await expect(dynamodb.send(READ)).rejects.toHaveProperty('name', 'ValidationException')
	expect(service.requests).toHaveLength(1)
})
