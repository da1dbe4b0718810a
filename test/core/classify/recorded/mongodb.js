import { deserialize, serialize } from 'bson'
import { MongoClient } from 'mongodb'
import { deadPort, thrownBy, withServer } from './provoke.js'

const OP_MSG = 2013
const HELLO = {
	ok: 1,
	helloOk: true,
	isWritablePrimary: true,
	setName: 'rs',
	hosts: [],
	logicalSessionTimeoutMinutes: 30,
	maxBsonObjectSize: 16777216,
	maxMessageSizeBytes: 48000000,
	maxWriteBatchSize: 100000,
	minWireVersion: 0,
	maxWireVersion: 25,
}

/** Returns the command of a message, or undefined while it is incomplete. */
const commandOf = (bytes) => deserialize(bytes.subarray(21, 21 + bytes.readInt32LE(21)))

function message(responseTo, document) {
	const body = serialize(document)
	const bytes = Buffer.alloc(21 + body.length)
	const head = [bytes.length, 1, responseTo, OP_MSG, 0]
	for (const [index, value] of head.entries()) bytes.writeInt32LE(value, index * 4)
	bytes.set(body, 21)
	return bytes
}

/** A server of the wire protocol that replies to everything but the handshake with `reply`; undefined closes the connection. */
const mongo = (reply) => (socket) => {
	let rest = Buffer.alloc(0)
	const { port } = socket.address()
	socket.on('data', (chunk) => {
		rest = Buffer.concat([rest, chunk])
		while (rest.length > 4 && rest.length >= rest.readInt32LE(0)) {
			const bytes = rest.subarray(0, rest.readInt32LE(0))
			rest = rest.subarray(bytes.length)
			const [name] = Object.keys(commandOf(bytes))
			const isHandshake = /^(hello|ismaster|endSessions|ping|abortTransaction)$/i.test(name)
			const me = `127.0.0.1:${port}`
			const document = isHandshake ? { ...HELLO, me, primary: me, hosts: [me] } : reply
			if (!document) return socket.destroy()
			socket.write(message(bytes.readInt32LE(4), document))
		}
	})
}

async function connected(port, use, options = {}) {
	const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
		serverApi: '1',
		serverSelectionTimeoutMS: 300,
		retryWrites: false,
		retryReads: false,
		monitorCommands: false,
		...options,
	})
	try {
		return await thrownBy(() => use(client.db('shop').collection('orders'), client))
	} finally {
		await client.close(true)
	}
}
const replying = (reply, use, options) => withServer(mongo(reply), (port) => connected(port, use, options))
const insert = (orders) => orders.insertOne({ _id: 1 })
const find = (orders) => orders.findOne({})
const failed = (code, codeName, errmsg, more = {}) => ({ ok: 0, code, codeName, errmsg, ...more })
const duplicate = {
	index: 0,
	code: 11000,
	keyPattern: { _id: 1 },
	keyValue: { _id: 1 },
	errmsg: 'E11000 duplicate key error collection: shop.orders index: timeout_1 dup key: { _id: 1 }',
}

export const cases = {
	'mongodb: duplicate key': () => replying({ ok: 1, n: 0, writeErrors: [duplicate] }, insert),
	'mongodb: duplicate key in a bulk write': () =>
		replying({ ok: 1, n: 0, writeErrors: [duplicate] }, (orders) => orders.insertMany([{ _id: 1 }])),
	'mongodb: document validation': () =>
		replying(
			{
				ok: 1,
				n: 0,
				writeErrors: [
					{ index: 0, code: 121, errmsg: 'Document failed validation', errInfo: { failingDocumentId: 1 } },
				],
			},
			insert,
		),
	'mongodb: not authorized': () =>
		replying(failed(13, 'Unauthorized', 'not authorized on shop to execute command'), find),
	'mongodb: bad value': () => replying(failed(2, 'BadValue', 'unknown operator: $timeout'), find),
	'mongodb: no such collection': () => replying(failed(26, 'NamespaceNotFound', 'ns not found'), find),
	'mongodb: a write that may be retried': () =>
		replying(
			failed(91, 'ShutdownInProgress', 'The server is in quiesce mode and will shut down', {
				errorLabels: ['RetryableWriteError'],
			}),
			insert,
			{
				retryWrites: true,
			},
		),
	'mongodb: a transaction that may be retried': () =>
		replying(
			failed(112, 'WriteConflict', 'WriteConflict error: this operation conflicted with another operation.', {
				errorLabels: ['TransientTransactionError'],
			}),
			find,
		),
	'mongodb: read from a server that is no longer primary': () =>
		replying(failed(10107, 'NotWritablePrimary', 'not primary'), find),
	'mongodb: primary stepped down': () =>
		replying(failed(189, 'PrimarySteppedDown', 'primary stepped down while waiting'), find),
	'mongodb: time limit of the operation': () =>
		replying(failed(50, 'MaxTimeMSExpired', 'operation exceeded time limit'), find),
	'mongodb: connection closed': () => replying(undefined, find),
	'mongodb: connection refused': async () => connected(await deadPort(), find),
}
