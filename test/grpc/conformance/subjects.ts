/** The two clients that the rules are tested with: grpc-js with the interceptor, and grpc-js alone with the same service config. */
import type { ClientOptions } from '@grpc/grpc-js'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import {
	type GrpcClientOptions,
	parseServiceConfig,
	resilientChannelOptions,
	resilientInterceptor,
} from 'yaoki/grpc'
import { type UsersClient, useUsersClient } from '../support/users-client.ts'
import type { VirtualServer } from '../support/virtual-server.ts'

export type Subject = 'Yaoki' | 'grpc-js'

export const SUBJECTS: readonly Subject[] = ['Yaoki', 'grpc-js']

/** Limits of the client, which are options of the interceptor or of the channel. `classify` is one of the interceptor only. */
export interface Limits extends Pick<GrpcClientOptions, 'classify'> {
	readonly maxAttemptsCap?: number
	readonly maxBufferBytesPerCall?: number
	readonly maxBufferBytes?: number
}

/** Returns the options of a client with this service config. */
export function optionsOf(subject: Subject, config: object, limits: Limits = {}): Partial<ClientOptions> {
	return subject === 'Yaoki' ? withInterceptor(config, limits) : withoutInterceptor(config, limits)
}

function withInterceptor(config: object, { maxAttemptsCap, ...options }: Limits): Partial<ClientOptions> {
	const serviceConfig = parseServiceConfig(config, { maxAttemptsCap })
	return {
		...resilientChannelOptions(serviceConfig),
		interceptors: [resilientInterceptor(grpc, { serviceConfig, circuitBreaker: false, ...options })],
	}
}

function withoutInterceptor(config: object, limits: Limits): Partial<ClientOptions> {
	const { maxAttemptsCap, maxBufferBytesPerCall, maxBufferBytes } = limits
	return {
		'grpc.service_config': JSON.stringify(config),
		'grpc.service_config_disable_resolution': 1,
		...(maxAttemptsCap && { 'grpc-node.retry_max_attempts_limit': maxAttemptsCap }),
		...(maxBufferBytesPerCall && { 'grpc.per_rpc_retry_buffer_size': maxBufferBytesPerCall }),
		...(maxBufferBytes && { 'grpc.retry_buffer_size': maxBufferBytes }),
	}
}

/** Creates a client of a real server. */
export const useClient = (subject: Subject, address: string, config: object, limits?: Limits): UsersClient =>
	useUsersClient(address, optionsOf(subject, config, limits))

/** Creates a client of a server in virtual time. */
export const useVirtualClient = (
	subject: Subject,
	server: VirtualServer,
	config: object,
	limits?: Limits,
): UsersClient => useUsersClient(server.address, optionsOf(subject, server.route(config), limits))

/** Returns times to compare with. Where A6 says immediately, grpc-js sets a timer of 1 ms. */
export const timesLike = (subject: Subject, times: readonly number[]): readonly number[] =>
	subject === 'Yaoki' ? times : times.map((time): number => expect.closeTo(time, -1))

/** A rule that both clients follow. */
export function testBoth(rule: string, run: (subject: Subject) => Promise<void>): void {
	describe(rule, () => {
		test.each(SUBJECTS)('%s', run)
	})
}
