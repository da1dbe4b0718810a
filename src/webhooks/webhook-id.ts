/**
 * Visible ASCII without a full stop. The id, the timestamp and the body are signed as one text with full
 * stops between them: with one in the id, the parts of a signed text could be divided in another way.
 */
const WEBHOOK_ID = /^[!-\-/-~]+$/

export const isWebhookId = (id: string): boolean => WEBHOOK_ID.test(id)
