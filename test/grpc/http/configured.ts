/** A server on loopback with scripted faults, and a client for it with a service config. Time is virtual, the network is real. */

import type { YaokiEvent } from 'yaoki'
import { parseServiceConfig } from 'yaoki/grpc'
import { ResilientHttpClient } from 'yaoki/http'
import { httpServiceConfig } from '../../../src/grpc/http/http-service-config.ts'
import { type SettingOptions, serve, virtualTime } from '../../http/client/setting.ts'
import { answer, type Step } from '../../http/faults/fault-server.ts'
import type { Script } from '../../http/faults/script.ts'

export const fine: Step = answer({ body: 'fine' })
export const failing = (status: number, headers: Record<string, string> = {}): Step =>
	answer({ status, headers })

export const RETRY = {
	maxAttempts: 3,
	initialBackoff: '0.1s',
	maxBackoff: '1s',
	backoffMultiplier: 2,
	retryableStatusCodes: ['UNAVAILABLE'],
}

/** A config with one entry for all paths. */
export const forAll = (settings: object): object => ({ methodConfig: [{ name: [{}], ...settings }] })

export async function configured(
	script: Script<Step>,
	json: object,
	{ areWaitsHeld = false, ...options }: SettingOptions = {},
) {
	const server = await serve(script)
	const time = virtualTime({ areWaitsHeld })
	const events: YaokiEvent[] = []
	const serviceConfig = httpServiceConfig({ [server.origin]: parseServiceConfig(json) })
	const client = new ResilientHttpClient({
		baseUrl: server.origin,
		runtime: time.runtime,
		onEvent: (event) => events.push(event),
		budget: false,
		serviceConfig,
		...options,
	})
	return { server, client, events, serviceConfig, ...time }
}
