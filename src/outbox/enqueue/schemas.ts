/**
 * Validates payloads against the schemas of their topics. The schema's output is stored, so defaults and
 * conversions are applied once. A synchronous schema is not awaited: with `node:sqlite` the user may commit in
 * the same tick.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { SchemaIssue, SchemaResult, StandardSchema } from '../../core/options/standard-schema.ts'
import { joinList } from '../../text/format.ts'
import { didYouMean, nearestName } from '../../text/nearest.ts'
import { InvalidMessageError, type MessageRef } from '../message/errors.ts'
import type { Topics } from '../message/message.ts'
import { pathStep } from './json-check.ts'

export type Validation = SchemaResult<unknown> | Promise<SchemaResult<unknown>>

/** Validates a payload by the schema of its topic. Throws for an unknown topic. */
export type ValidatePayload = (topic: string, payload: unknown, ref: MessageRef) => Validation

const MAX_LISTED_TOPICS = 20

/** Rejects an invalid schema when the outbox is created, and not with the first message. */
export function readTopics(topics: unknown): ValidatePayload | undefined {
	if (topics === undefined) return undefined
	if (typeof topics !== 'object' || topics === null || Symbol.iterator in topics)
		invalidOption('topics', topics, 'an object with a schema for each topic')
	const schemas = new Map<string, StandardSchema['~standard']>()
	for (const [topic, schema] of Object.entries(topics as Topics)) {
		const standard = (schema as Partial<typeof schema> | null | undefined)?.['~standard']
		const path = `topics[${JSON.stringify(topic)}]`
		if (typeof standard?.validate !== 'function')
			invalidOption(path, schema, 'a Standard Schema, for example of zod or valibot')
		schemas.set(topic, standard)
	}
	return (topic, payload, ref) => {
		const schema = schemas.get(topic) ?? rejectTopic(topic, [...schemas.keys()], ref)
		return schema.validate(payload)
	}
}

function rejectTopic(topic: string, topics: readonly string[], ref: MessageRef): never {
	const valid = topics.length === 0 ? 'none' : joinList(topics, 'and', MAX_LISTED_TOPICS)
	const hint = didYouMean(nearestName(topic, topics)) || ` Valid topics: ${valid}`
	throw new InvalidMessageError(ref, [{ field: 'topic', message: `unknown topic.${hint}` }])
}

/** Returns the schema's output; throws with all issues if the payload is invalid. */
export function validValue(result: SchemaResult<unknown>, ref: MessageRef): unknown {
	if (result.issues === undefined) return result.value
	const issues = result.issues.map(({ message, path }) => ({ field: fieldPath(path), message }))
	if (issues.length === 0) issues.push({ field: 'payload', message: 'is not valid' })
	throw new InvalidMessageError(ref, issues)
}

function fieldPath(path: SchemaIssue['path'] = []): string {
	const steps = path.map((step) => pathStep(typeof step === 'object' ? step.key : step))
	return `payload${steps.join('')}`
}
