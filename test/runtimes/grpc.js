/** gRPC on every runtime: service configs, and clients of both libraries. Modules and transports are small stand-ins: no runtime has to install gRPC. */
import { explain } from 'yaoki'
import {
	parseServiceConfig,
	resilientChannelOptions,
	resilientConnectInterceptor,
	resilientInterceptor,
} from 'yaoki/grpc'
import { same } from './checks.js'

const UNAVAILABLE = 14

/** Three attempts for these names, a millisecond apart. */
const retrying = (...name) =>
	parseServiceConfig({
		methodConfig: [
			{
				name,
				retryPolicy: {
					maxAttempts: 3,
					initialBackoff: '0.001s',
					maxBackoff: '0.001s',
					backoffMultiplier: 1,
					retryableStatusCodes: ['UNAVAILABLE'],
				},
			},
		],
	})

/** The parts of Connect's error class that the interceptor uses. */
class ConnectError extends Error {
	constructor(message, code, metadata = {}, details = [], cause = undefined) {
		super(message, { cause })
		this.rawMessage = message
		this.code = code
		this.metadata = new Headers(metadata)
		this.details = details
		this.isWireError = true
	}

	static from = (reason) => (reason instanceof ConnectError ? reason : new ConnectError(String(reason), 2))
}

/** The parts of grpc-js's Metadata that the interceptor uses. */
class Metadata {
	#values = new Map()
	get = (key) => (this.#values.has(key) ? [this.#values.get(key)] : [])
	set = (key, value) => void this.#values.set(key, value)
	getMap = () => Object.fromEntries(this.#values)
	getOptions = () => ({})
	setOptions() {}
	clone() {
		const copy = new Metadata()
		for (const [key, value] of this.#values) copy.set(key, value)
		return copy
	}
}

/** Makes a unary call with a transport of Connect that fails the given number of times. Returns the attempts that each request stated. */
async function callConnect(interceptor, failures) {
	const stated = []
	const transport = async ({ header }) => {
		stated.push(header.get('grpc-previous-rpc-attempts') ?? '-')
		if (stated.length <= failures) throw new ConnectError('down', UNAVAILABLE)
		return { stream: false, message: { text: 'ok' }, header: new Headers(), trailer: new Headers() }
	}
	const request = {
		service: { typeName: 'shop.Users' },
		method: { name: 'Get', input: {}, output: {} },
		stream: false,
		message: { text: 'q' },
		header: new Headers(),
		signal: new AbortController().signal,
	}
	const ended = await interceptor(transport)(request).then(
		({ message }) => ({ message }),
		(error) => ({ error }),
	)
	return { stated: stated.join(), ...ended }
}

/** A call below the interceptor that ends with these codes, one per attempt. */
function nextCall(codes) {
	const end = (listener) => {
		const code = codes.shift() ?? 0
		if (code === 0) listener.onReceiveMetadata(new Metadata())
		if (code === 0) listener.onReceiveMessage('ok')
		listener.onReceiveStatus({ code, details: 'down', metadata: new Metadata() })
	}
	return () => ({
		start: (_metadata, listener) => queueMicrotask(() => end(listener)),
		sendMessageWithContext: () => {},
		startRead: () => {},
		halfClose: () => {},
		cancelWithStatus: () => {},
		getPeer: () => 'peer',
	})
}

/** Makes a unary call as grpc-js does. Returns its status. */
function callGrpc(interceptor, codes) {
	const encoder = new TextEncoder()
	const method_definition = {
		path: '/shop.Users/Get',
		requestStream: false,
		responseStream: false,
		requestSerialize: (text) => encoder.encode(text),
	}
	const call = interceptor({ method_definition }, nextCall(codes))
	return new Promise((resolve) => {
		call.start(new Metadata(), { onReceiveStatus: resolve })
		call.sendMessage('q')
		call.halfClose()
		call.startRead()
	})
}

export const tests = {
	async 'parses a service config, and finds the settings of a method'() {
		const config = parseServiceConfig(
			'{"methodConfig":[{"name":[{"service":"shop.Users","method":"Get"}],"timeout":"0.005s"},{"name":[{}],"timeout":"2s"}]}',
		)
		same(config.find('shop.Users', 'Get').timeoutMs, 5)
		same(config.find('shop.Users', 'List').timeoutMs, 2_000)
		same(resilientChannelOptions(config)['grpc.service_config_disable_resolution'], 1)
	},

	async 'rejects a service config with the path of the mistake'() {
		const pathOf = (entry) => {
			try {
				parseServiceConfig({ methodConfig: [{ name: [{}], ...entry }] })
			} catch (error) {
				return error.optionPath
			}
		}
		same(pathOf({ timeout: '-1s' }), 'methodConfig[0].timeout')
		same(pathOf({ hedgingPolicy: { maxAttempts: 1 } }), 'methodConfig[0].hedgingPolicy.maxAttempts')
		same(pathOf({ retrypolicy: {} }), 'methodConfig[0].retrypolicy')
	},

	async 'retries a call of Connect'() {
		const interceptor = resilientConnectInterceptor(
			{ ConnectError },
			{ serviceConfig: retrying({ service: 'shop.Users' }) },
		)
		const { stated, message } = await callConnect(interceptor, 2)
		same(stated, '-,1,2')
		same(message.text, 'ok')
	},

	async 'explains the error of a call of Connect, and opens the circuit'() {
		const interceptor = resilientConnectInterceptor(
			{ ConnectError },
			{ serviceConfig: retrying({}), circuitBreaker: { failureThreshold: 1 } },
		)
		const { error } = await callConnect(interceptor, 9)
		same(explain(error).stop, 'retries-exhausted')
		const rejected = await callConnect(interceptor, 9)
		same(rejected.stated, '')
		same(rejected.error.code, UNAVAILABLE)
		same(rejected.error.cause.name, 'CircuitOpenError')
	},

	async 'retries a call of grpc-js'() {
		const interceptor = resilientInterceptor(
			{ Metadata, InterceptingCall: class {} },
			{ serviceConfig: retrying({ service: 'shop.Users' }) },
		)
		same((await callGrpc(interceptor, [UNAVAILABLE, UNAVAILABLE])).code, 0)
		same((await callGrpc(interceptor, [UNAVAILABLE, UNAVAILABLE, UNAVAILABLE])).code, UNAVAILABLE)
		same((await callGrpc(interceptor, [5])).code, 5)
		same(interceptor.stats.attempts, 7)
		same(interceptor.stats.bufferedBytes, 0)
	},
}
