import { Kafka, logLevel } from 'kafkajs'
import {
	KafkaJSConnectionClosedError,
	KafkaJSNumberOfRetriesExceeded,
	KafkaJSTimeout,
} from 'kafkajs/src/errors.js'
import { createErrorFromCode } from 'kafkajs/src/protocol/error.js'
import { constructed, deadPort, thrownBy, withServer } from './provoke.js'

const kafka = (port, options = {}) =>
	new Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: logLevel.NOTHING, retry: { retries: 0 }, ...options })

const connect = (port, options) => thrownBy(() => kafka(port, options).producer().connect())

/** The error for a code of the protocol, as the client creates it for such a response. */
const code = (number) => () => constructed(createErrorFromCode(number))

export const cases = {
	'kafkajs: connection refused': async () => connect(await deadPort()),
	'kafkajs: connection closed by the broker': () =>
		withServer(
			(socket) => socket.on('data', () => socket.destroy()),
			(port) => connect(port),
		),
	'kafkajs: request timeout': () =>
		withServer(
			() => {},
			(port) => connect(port, { requestTimeout: 20, enforceRequestTimeout: true }),
		),
	'kafkajs: a producer that is not connected': async () => {
		const producer = kafka(await deadPort()).producer()
		return thrownBy(() => producer.send({ topic: 'orders', messages: [{ value: 'x' }] }))
	},
	'kafkajs: a message without a topic': async () =>
		thrownBy(() =>
			kafka(1)
				.producer()
				.send({ messages: [{ value: 'x' }] }),
		),
	'kafkajs: unknown topic or partition': code(3),
	'kafkajs: not leader for partition': code(6),
	'kafkajs: message too large': code(10),
	'kafkajs: not enough replicas': code(19),
	'kafkajs: topic authorization failed': code(29),
	'kafkajs: timeout': () => constructed(new KafkaJSTimeout('Timeout while polling')),
	'kafkajs: retries exhausted after a protocol error that is final': () =>
		constructed(new KafkaJSNumberOfRetriesExceeded(createErrorFromCode(10), { retryCount: 5, retryTime: 1 })),
	'kafkajs: connection closed': () =>
		constructed(new KafkaJSConnectionClosedError('Closed connection', { host: '127.0.0.1', port: 1 })),
}
