/**
 * The commands that change endpoints: `webhooks create`, `update`, `rotate`, `disable`, `enable` and `delete`. Each
 * change is in the audit. No command prints a secret.
 */
import { InvalidArgumentError } from '../../core/errors/errors.ts'
import type { EndpointStore } from '../../outbox/store/endpoint-store.ts'
import type { WebhookEndpoint } from '../../outbox/webhooks/endpoint.ts'
import {
	type NewWebhookEndpoint,
	readDescription,
	readTenant,
} from '../../outbox/webhooks/endpoint-options.ts'
import { hasEncryptedSecret, hasSecret } from '../../outbox/webhooks/stored-secrets.ts'
import { readTopicPatterns } from '../../outbox/webhooks/topics.ts'
import {
	checkWebhookUrl,
	readUrlRules,
	type WebhookUrlOptions,
} from '../../outbox/webhooks/transport/check-url.ts'
import { formatCount, formatDuration } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { checkSecret } from '../../webhooks/secrets.ts'
import { type Command, defineCommand } from '../command.ts'
import { CliError, usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { flag, text } from '../option-tables.ts'
import { parseDuration } from '../outbox/parse-time.ts'
import {
	CHANGE_OPTIONS,
	ENDPOINT_ID,
	EXAMPLE_ENDPOINT,
	operatorOf,
	requireEndpoint,
	URL_OPTIONS,
	urlRules,
	withWebhooks,
} from './open-webhooks.ts'
import { describeState, shownUrl } from './render-endpoints.ts'
import { type FileSecret, readOrCreateSecret, SECRET_OPTION } from './secret-file.ts'

const TOPIC = text('TOPIC', "a topic that it gets: order.placed, 'order.*' or '*'", {
	short: 't',
	multiple: true,
})

export const create: Command = defineCommand({
	examples: [
		[
			"yaoki webhooks create https://customer.example.com/hooks --topic 'order.*' --secret-file new.secret",
			'a new secret is written into the file',
		],
		[
			"yaoki webhooks create https://customer.example.com/hooks --topic '*' --tenant customer-7 --secret-file known.secret",
			'the events of one customer, with a secret that the file has already',
		],
	],
	options: {
		...CHANGE_OPTIONS,
		...SECRET_OPTION,
		topic: TOPIC,
		tenant: text('NAME', 'whose events it gets; default events without a tenant'),
		description: text('TEXT', 'for people'),
		...URL_OPTIONS,
	},
	positionals: { url: { placeholder: 'URL', description: 'where the events are sent' } },
	async run({ url, topic, tenant, description, secretFile, ...args }, io) {
		if (topic.length === 0) throw noTopic()
		return withWebhooks(args, io, async ({ endpoints, endpointStore }) => {
			await rejectEncrypted(endpointStore)
			const given = { url, topics: topic, tenant, description, ...operatorOf(args) }
			// A file of a URL that is not permitted would be left over, and be used by the next call.
			checkGiven(given, urlRules(args))
			const from = await readOrCreateSecret(secretFile, io.warn)
			const { secret } = checked(from)
			const { endpoint } = await endpoints.create({ ...given, secret }).catch(keepingSecret(from, io))
			io.result(
				{ endpoint, secretFile: from.file, isNewSecret: from.isNew },
				sanitizeLine(
					`Created endpoint ${endpoint.id} for ${shownUrl(endpoint.url)}. ${describeSecret(from)}`,
				),
			)
		})
	},
})

function checkGiven(
	{ url, topics, tenant, description }: NewWebhookEndpoint,
	rules: WebhookUrlOptions,
): void {
	checkWebhookUrl(url, readUrlRules(rules))
	readTopicPatterns(topics)
	readTenant(tenant)
	readDescription(description)
}

const noTopic = (): CliError =>
	usageError("Give at least one --topic: a topic, a beginning such as 'order.*', or '*' for all.")

const describeSecret = ({ isNew, file }: FileSecret): string =>
	isNew ? `Its new secret is in ${file}: give it to the receiver.` : `It signs with the secret of ${file}.`

/** The error of an invalid secret says what it is instead, never any part of it. */
function checked(from: FileSecret): FileSecret {
	try {
		checkSecret('secret', from.secret)
		return from
	} catch (error) {
		if (!(error instanceof InvalidArgumentError)) throw error
		throw usageError(`${from.file} has no valid secret: expected ${error.expected}.`, {
			hint: 'Name a file that does not exist, and a new secret is written into it.',
		})
	}
}

/** A failure of the database may hide a change that was committed, so the file of a new secret stays. */
const keepingSecret =
	({ isNew, file }: FileSecret, { note }: Pick<CommandIo, 'note'>) =>
	(error: unknown): never => {
		if (isNew) note(`The new secret is in ${file}. The next call uses it.`)
		throw error
	}

const PAGE_SIZE = 1_000

/** A secret that this command stores is readable, which a program with `secretEncryption` wants to prevent. */
async function rejectEncrypted(store: EndpointStore): Promise<void> {
	let after: string | undefined
	do {
		const page = await store.list({}, PAGE_SIZE, after)
		if (page.some(({ secrets }) => hasEncryptedSecret(secrets))) throw encrypted('create')
		after = page.length === PAGE_SIZE ? page.at(-1)?.id : undefined
	} while (after !== undefined)
}

const encrypted = (method: 'create' | 'rotateSecret'): CliError =>
	new CliError('failure', 'Secrets of endpoints are encrypted, and only your program has the key.', {
		hint: `Call webhooks.endpoints.${method}() in a program that passes secretEncryption to new Webhooks.`,
	})

export const update: Command = defineCommand({
	examples: [
		[
			`yaoki webhooks update ${EXAMPLE_ENDPOINT} --url https://new.example.com/hooks`,
			'its queued messages go there too',
		],
		[
			`yaoki webhooks update ${EXAMPLE_ENDPOINT} --topic order.placed --topic order.paid`,
			'these topics instead of those that it had',
		],
	],
	options: {
		...CHANGE_OPTIONS,
		url: text('URL', 'where the events are sent'),
		topic: TOPIC,
		description: text('TEXT', "for people; '' removes it"),
		...URL_OPTIONS,
	},
	positionals: ENDPOINT_ID,
	async run({ id, url, topic, description, ...args }, io) {
		if (url === undefined && topic.length === 0 && description === undefined)
			throw usageError('Give --url, --topic or --description: what to change.')
		const topics = topic.length === 0 ? undefined : topic
		return withWebhooks(args, io, async (open) => {
			const before = await requireEndpoint(open, id)
			const change = { url, topics, description, ...operatorOf(args) }
			const endpoint = await open.endpoints.update(before.id, change)
			io.result(
				endpoint,
				sanitizeLine(
					`Changed endpoint ${endpoint.id}: ${shownUrl(endpoint.url)}, ${formatCount(endpoint.topics.length, 'topic')}.`,
				),
			)
		})
	},
})

export const rotate: Command = defineCommand({
	examples: [
		[
			`yaoki webhooks rotate ${EXAMPLE_ENDPOINT} --secret-file new.secret`,
			'both secrets sign for a day, until the receiver has the new one',
		],
		[
			`yaoki webhooks rotate ${EXAMPLE_ENDPOINT} --secret-file new.secret --keep-for 0s --reason leaked`,
			'the former secret ends immediately',
		],
	],
	options: {
		...CHANGE_OPTIONS,
		...SECRET_OPTION,
		keepFor: text('1d', 'how long the former secrets still sign', { default: '1d' }),
	},
	positionals: ENDPOINT_ID,
	async run({ id, secretFile, keepFor, ...args }, io) {
		const keepForMs = parseDuration('--keep-for', keepFor)
		return withWebhooks(args, io, async (open) => {
			const { endpoints, endpointStore } = open
			const endpoint = await requireEndpoint(open, id)
			const { secrets = '[]' } = (await endpointStore.find(endpoint.id)) ?? {}
			if (hasEncryptedSecret(secrets)) throw encrypted('rotateSecret')
			const from = await readOrCreateSecret(secretFile, io.warn)
			const { secret } = checked(from)
			if (hasSecret(secrets, secret))
				throw usageError(`The endpoint signs with the secret of ${from.file} already.`, {
					hint: 'Name a file that does not exist, and a new secret is written into it.',
				})
			const options = { secret, keepForMs, ...operatorOf(args) }
			await endpoints.rotateSecret(endpoint.id, options).catch(keepingSecret(from, io))
			const former =
				keepForMs === 0
					? 'The former secrets do not sign any more.'
					: `The former secrets sign for another ${formatDuration(keepForMs)}.`
			io.result(
				{ id: endpoint.id, secretFile: from.file, isNewSecret: from.isNew, keepForMs },
				sanitizeLine(`Rotated the secret of endpoint ${endpoint.id}. ${describeSecret(from)} ${former}`),
			)
		})
	},
})

export const disable: Command = defineCommand({
	examples: [
		[
			`yaoki webhooks disable ${EXAMPLE_ENDPOINT} --reason 'customer asked'`,
			'it gets no new events, and its queued messages wait',
		],
	],
	options: CHANGE_OPTIONS,
	positionals: ENDPOINT_ID,
	run: ({ id, ...args }, io) =>
		withWebhooks(args, io, async (open) => {
			const before = await requireEndpoint(open, id)
			const endpoint = await open.endpoints.disable(before.id, operatorOf(args))
			const text = before.isEnabled
				? `Disabled endpoint ${endpoint.id}. Its queued messages wait. Relays may send for another few seconds.`
				: `Endpoint ${endpoint.id} was ${describeState(before)} already.`
			io.result(endpoint, text)
		}),
})

export const enable: Command = defineCommand({
	examples: [
		[
			`yaoki webhooks enable ${EXAMPLE_ENDPOINT} --reason 'repaired'`,
			'its queued messages are sent, and it gets new events',
		],
	],
	options: CHANGE_OPTIONS,
	positionals: ENDPOINT_ID,
	run: ({ id, ...args }, io) =>
		withWebhooks(args, io, async (open) => {
			const before = await requireEndpoint(open, id)
			const endpoint = await open.endpoints.enable(before.id, operatorOf(args))
			io.result(endpoint, describeEnabled(before))
			for (const line of describeMissed(before, open.target.flags)) io.note(line)
		}),
})

const describeEnabled = (before: WebhookEndpoint): string =>
	before.isEnabled
		? `Endpoint ${before.id} was enabled already.`
		: `Enabled endpoint ${before.id}. Its queued messages are sent.`

/** Its messages may have become dead letters before it was disabled, from its first failure on. */
function describeMissed({ id, disabledAt, failingSince }: WebhookEndpoint, flags: string): readonly string[] {
	if (!disabledAt) return []
	const command = (name: string, since: Date) =>
		`yaoki webhooks ${name} ${id} --since ${since.toISOString()}${flags}`
	return [
		`Messages that became dead letters: ${command('resend', failingSince ?? disabledAt)}`,
		`Events while it was disabled, if the program keeps them: ${command('replay', disabledAt)}`,
	]
}

export const deleteEndpoint: Command = defineCommand({
	examples: [
		[`yaoki webhooks delete ${EXAMPLE_ENDPOINT}`, 'what would be deleted; exit code 2'],
		[`yaoki webhooks delete ${EXAMPLE_ENDPOINT} --yes`, 'its queued messages become dead letters'],
	],
	options: {
		...CHANGE_OPTIONS,
		yes: flag('delete it; without it nothing is changed, with exit code 2', 'y'),
	},
	positionals: ENDPOINT_ID,
	run: ({ id, yes, ...args }, io) =>
		withWebhooks(args, io, async (open) => {
			const endpoint = await requireEndpoint(open, id)
			if (!yes)
				throw usageError(
					sanitizeLine(`This would delete endpoint ${endpoint.id} for ${shownUrl(endpoint.url)}.`),
					{
						hint: 'Its queued messages become dead letters, and its secret is lost. Add --yes to confirm, or use yaoki webhooks disable.',
					},
				)
			const isDeleted = await open.endpoints.delete(endpoint.id, operatorOf(args))
			io.result(
				{ id: endpoint.id, deleted: isDeleted },
				`Deleted endpoint ${endpoint.id}. A relay moves its queued messages to the dead letters.`,
			)
		}),
})
