/**
 * Validates payloads against the schemas of their topics. The schema's output is stored, so a default or a
 * conversion is applied once and not at every delivery. A synchronous schema is not awaited, because with
 * `node:sqlite` the user may commit in the same tick.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { SchemaIssue, SchemaResult } from '../../core/options/standard-schema.ts'
import { joinList } from '../../text/format.ts'
import { didYouMean, nearestName } from '../../text/nearest.ts'
import { InvalidMessageError, type MessageRef } from '../message/errors.ts'
import type { Topics } from '../message/message.ts'
import { pathStep } from './json-check.ts'

type Validator = (payload: unknown) => SchemaResult<unknown> | Promise<SchemaResult<unknown>>

const MAX_LISTED_TOPICS = 20

/** Returns the schemas by topic. An invalid schema is rejected when the outbox is created, not with the first message. */
export function readTopics(topics: unknown): Schemas | undefined {
	if (topics === undefined) return undefined
	if (typeof topics !== 'object' || topics === null || Symbol.iterator in topics)
		invalidOption('topics', topics, 'an object with a schema for each topic')
	return new Schemas(topics as Topics)
}

export class Schemas {
	readonly #byTopic = new Map<string, Validator>()

	constructor(topics: Topics) {
		for (const [topic, schema] of Object.entries(topics)) {
			const standard = (schema as Partial<typeof schema> | null | undefined)?.['~standard']
			if (typeof standard?.validate !== 'function')
				invalidOption(
					`topics[${JSON.stringify(topic)}]`,
					schema,
					'a Standard Schema, for example of zod or valibot',
				)
			this.#byTopic.set(topic, (payload) => standard.validate(payload))
		}
	}

	validator(topic: string, ref: MessageRef): Validator {
		const validator = this.#byTopic.get(topic)
		if (validator !== undefined) return validator
		const topics = [...this.#byTopic.keys()]
		const valid = topics.length === 0 ? 'none' : joinList(topics, 'and', MAX_LISTED_TOPICS)
		const hint = didYouMean(nearestName(topic, topics)) || ` Valid topics: ${valid}`
		throw new InvalidMessageError(ref, [{ field: 'topic', message: `unknown topic.${hint}` }])
	}
}

/** Returns the schema's output; throws with all issues if the payload is invalid. */
export function validValue(result: SchemaResult<unknown>, ref: MessageRef): unknown {
	if (result.issues === undefined) return result.value
	const issues = result.issues.map(({ message, path }) => ({ field: fieldPath(path), message }))
	throw new InvalidMessageError(
		ref,
		issues.length > 0 ? issues : [{ field: 'payload', message: 'is not valid' }],
	)
}

function fieldPath(path: SchemaIssue['path'] = []): string {
	const steps = path.map((step) => pathStep(typeof step === 'object' ? step.key : step))
	return `payload${steps.join('')}`
}
