/** Calls about webhooks on the user's connection. The conformance suite says what they return. */
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import type { EndpointStore } from '../../../../src/outbox/store/endpoint-store.ts'
import { required } from '../../../../src/outbox/testing/harness/assertions.ts'
import { temporaryFile } from '../../../support/temporary-file.ts'
import { migratedStore } from './rows.ts'

const ID = '01890a5d-ac96-7000-8000-000000000001'
const EVENT = { id: ID, tenant: '', topic: 'a', key: null, payload: '{}', headers: null, keepForMs: 1 }
const ENDPOINT = {
	id: ID,
	tenant: '',
	url: 'https://example.com',
	topics: ['a'],
	description: null,
	secrets: '',
}

async function setup(): Promise<{ endpoints: EndpointStore; file: string }> {
	const file = temporaryFile()
	const store = await migratedStore(file)
	onTestFinished(() => store.close())
	const endpoints = required(store.endpoints, 'the endpoints')
	await endpoints.insert(ENDPOINT, { by: 'ada', reason: null })
	return { endpoints, file }
}

function open(file: string, options = {}): DatabaseSync {
	const user = new DatabaseSync(file, options)
	onTestFinished(() => user.close())
	return user
}

test('reads ids from connections whose rows are arrays', async () => {
	const { endpoints, file } = await setup()
	expect(endpoints.matching('', ['a'], open(file, { returnArrays: true }))).toEqual([ID])
})

test('throws for a tx that is not an SQLite connection', async () => {
	const { endpoints } = await setup()
	const tx = { query: async () => [] }
	expect(() => endpoints.matching('', ['a'], tx)).toThrow('tx is not an SQLite connection')
	expect(() => endpoints.insertEvent(EVENT, tx)).toThrow('tx is not an SQLite connection')
})

test('throws for a tx of another database', async () => {
	const { endpoints } = await setup()
	const tx = open(':memory:')
	const text = 'tx is connected to another database than the outbox'
	expect(() => endpoints.matching('', ['a'], tx)).toThrow(text)
	expect(() => endpoints.insertEvent(EVENT, tx)).toThrow(text)
})

test('says what to do if another connection is writing, and reads meanwhile', async () => {
	const { endpoints, file } = await setup()
	const other = open(file)
	other.exec('BEGIN IMMEDIATE')
	const tx = open(file)
	expect(endpoints.matching('', ['a'], tx)).toEqual([ID])
	expect(() => endpoints.insertEvent(EVENT, tx)).toThrow('BEGIN IMMEDIATE')
	other.exec('ROLLBACK')
	expect(endpoints.insertEvent(EVENT, tx)).toBeUndefined()
	expect(await endpoints.events({ tenant: '', topics: ['*'], since: 0 }, 10)).toHaveLength(1)
})
