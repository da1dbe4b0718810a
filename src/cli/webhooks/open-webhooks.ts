/** Opens the webhooks of an outbox for a command, and reports their errors with the names of flags. */
import { InvalidOptionError, YaokiError } from '../../core/errors/errors.ts'
import { isMessageId } from '../../outbox/message/filter.ts'
import type { OperatorOptions } from '../../outbox/operator/operator.ts'
import type { EndpointStore } from '../../outbox/store/endpoint-store.ts'
import type { WebhookEndpoint } from '../../outbox/webhooks/endpoint.ts'
import type { WebhookEndpoints } from '../../outbox/webhooks/endpoints.ts'
import type { WebhookUrlOptions } from '../../outbox/webhooks/transport/check-url.ts'
import { WebhookUrlError } from '../../outbox/webhooks/transport/webhook-url-error.ts'
import { endpointIdOf, isEndpoint } from '../../webhooks/endpoint-names.ts'
import type { CommandResult } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { type Arguments, flag, integer, text } from '../option-tables.ts'
import { OPERATOR_OPTIONS } from '../outbox/filter-options.ts'
import { type OpenOutbox, withOutbox } from '../outbox/open-outbox.ts'

/** An endpoint's id for the examples of commands. */
export const EXAMPLE_ENDPOINT = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'

export const ENDPOINT_ID = {
	id: { placeholder: 'ID', description: 'id of the endpoint; webhook:ID, as in the outbox, is accepted too' },
} as const

export const CHANGE_OPTIONS = { ...DATABASE_OPTIONS, ...OPERATOR_OPTIONS }

/** The options of commands that store a URL: the same rules as in the program that sends. */
export const URL_OPTIONS = {
	allow: text('HOST|NETWORK', 'permit this internal host, address or network, such as 10.1.0.0/16', {
		multiple: true,
	}),
	allowHttp: flag('permit http: beside https:'),
	port: integer('N', 'permit this port, instead of 443', { multiple: true, min: 1, max: 65_535 }),
}

export interface OpenWebhooks extends OpenOutbox {
	readonly endpoints: WebhookEndpoints
	readonly endpointStore: EndpointStore
}

type WebhooksArguments = Arguments<typeof DATABASE_OPTIONS> & Partial<Arguments<typeof URL_OPTIONS>>

export const urlRules = ({
	allow = [],
	allowHttp = false,
	port = [],
}: Partial<Arguments<typeof URL_OPTIONS>>): WebhookUrlOptions => ({
	allow,
	allowHttp,
	ports: port.length === 0 ? undefined : port,
})

export const withWebhooks = (
	args: WebhooksArguments,
	io: Pick<CommandIo, 'env' | 'runtime' | 'warn'>,
	use: (open: OpenWebhooks) => CommandResult,
): CommandResult =>
	withOutbox(args, io, async (open) => {
		const { Webhooks } = await import('../../outbox/webhooks/webhooks.ts')
		const { outbox, store, target } = open
		const endpointStore = store.endpoints
		if (!endpointStore) throw new Error(`a store of ${target.kind} has endpoints`)
		try {
			const webhooks = new Webhooks(outbox, {
				runtime: io.runtime,
				ssrfProtection: urlRules(args),
				// Only the program that enqueues keeps events. Here it says that they may be replayed.
				keepEventsForMs: Infinity,
			})
			return await use({ ...open, endpoints: webhooks.endpoints, endpointStore })
		} catch (error) {
			throw toFlagError(error, target.flags)
		}
	})

/** The flag of each option, by the beginning of its path. */
const FLAGS: Readonly<Record<string, string>> = {
	'ssrfProtection.allow': '--allow',
	allow: '--allow',
	tenant: '--tenant',
	description: '--description',
	topic: '--topic',
	after: '--after',
	topics: '--topic',
	ratePerSecond: '--rate',
}

function toFlagError(error: unknown, flags: string): unknown {
	if (error instanceof InvalidOptionError) {
		const path = error.optionPath.replace(/\[\d+\]$/, '')
		const flagName = FLAGS[path]
		return flagName === undefined ? error : new InvalidOptionError(flagName, error.received, error.expected)
	}
	if (!(error instanceof YaokiError)) return error
	switch (error.code) {
		case 'YAOKI_WEBHOOK_URL':
			return new CliError('usage', error.message, { hint: urlHint(error), cause: error })
		case 'YAOKI_WEBHOOK_ENDPOINT':
			return unknownEndpoint(flags)
		case 'YAOKI_WEBHOOK_SECRET':
			return new CliError('failure', error.message, { cause: error })
		default:
			return error
	}
}

/** What permits a URL, by what is wrong with it. No option permits a text that is no URL, or credentials in it. */
const PERMITTED_BY: Readonly<Record<string, readonly [flag: string, option: string]>> = {
	scheme: ['--allow-http', 'allowHttp'],
	port: ['--port', 'ports'],
	host: ['--allow', 'allow'],
	address: ['--allow', 'allow'],
}

function urlHint(error: YaokiError): string | undefined {
	if (!(error instanceof WebhookUrlError)) return undefined
	const permitted = PERMITTED_BY[error.reason]
	if (!permitted || (error.reason === 'scheme' && !error.url.startsWith('http:'))) return undefined
	const [flagName, option] = permitted
	return `${flagName} permits it here. The program that sends needs the same: ssrfProtection.${option} of new Webhooks.`
}

const unknownEndpoint = (flags: string): CliError =>
	new CliError('notFound', 'There is no endpoint with this id: it was deleted, or never created.', {
		hint: `List all with yaoki webhooks list${flags}`,
	})

/** Returns the id of an argument, which may be the destination of a message. */
function readEndpointId(given: string): string {
	const id = isEndpoint(given) ? endpointIdOf(given) : given
	if (!isMessageId(id)) throw new CliError('notFound', `Endpoint "${given}" does not exist: an id is a UUID.`)
	return id.toLowerCase()
}

export async function requireEndpoint(
	{ endpoints, target }: OpenWebhooks,
	given: string,
): Promise<WebhookEndpoint> {
	const found = await endpoints.find(readEndpointId(given))
	if (found) return found
	throw unknownEndpoint(target.flags)
}

export const operatorOf = ({ by, reason }: Arguments<typeof OPERATOR_OPTIONS>): OperatorOptions => ({
	by,
	reason,
})
