/**
 * Finds the call whose exhausted retries an error has behind it, by the records of the error and its causes,
 * so that an outer retry which was not given the context does not repeat them. The record of an error may
 * belong to an earlier call, if the error is a constant or a cached rejection; so starts are numbered, and
 * only a call that started within the failing attempt counts. Times would not do: clocks are coarse in
 * browsers and stand still in tests.
 */
import { findInCauses, safeGet } from '../classify/safe-get.ts'
import { type CallRecord, findRecord } from './record.ts'

let starts = 0

/** Numbers the start of a retry or of one of its attempts, from 1. */
export const nextStart = (): number => ++starts

/**
 * Reasons that leave no further attempt. Other ends say nothing about the operation: its caller aborted, or
 * it is unsafe to repeat.
 */
const EXHAUSTED = /^(retr|elapsed|budget|deadline|inner|server|not-retried)/

/** Returns true if a retry in this call has exhausted its retries. One with `maxRetries: 0` had none. */
export const isExhausted = ({ rare, stop, lastAttempt }: CallRecord): boolean =>
	EXHAUSTED.test(rare?.finalSince ? (stop as string) : '') &&
	(stop !== 'retries-exhausted' || lastAttempt?.attempt !== 0)

/**
 * The property of an error that may have the call's record in place of the error. A library that creates the
 * caller's error itself, from a status, keeps the object in this property, and the protocol attaches the
 * record to it.
 */
const RECORD_CARRIER = 'metadata'

/** Returns the record of an error, which a library may have created from what the call ended with. */
export const findRecordOfError = (error: unknown): CallRecord | undefined =>
	findRecord(error) ?? findRecord(safeGet(error, RECORD_CARRIER))

/**
 * Returns the call that ended with this error, or with one of its causes, after its retries were exhausted,
 * if it started after `since`.
 */
export const findExhausted = (error: unknown, since = 0): CallRecord | undefined =>
	findInCauses(error, (failure) => {
		const record = findRecordOfError(failure)
		const found = record && isExhausted(record) ? record : record?.rare?.inner
		return Number(found?.rare?.finalSince) > since ? found : undefined
	})
