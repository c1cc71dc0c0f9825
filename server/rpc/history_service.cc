#include "server/rpc/history_service.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/rpc/convert.h"
#include "server/rpc/error_details.h"
#include "server/rpc/page_token.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1000;
// Contributions and instants of a page of anomalies may take more than a
// message should; the page then ends early.
constexpr size_t kMaxPageBytes = 1 << 20;

absl::StatusOr<ScoreQuery> QueryFrom(const v1::ListScoresRequest& request) {
  absl::StatusOr<StreamKey> key =
      StreamKeyFrom(request.tenant(), request.stream(), request.mode());
  if (!key.ok()) return key.status();
  if (request.page_size() < 0) {
    return FieldError("page_size",
                      absl::StrFormat("%d; 0 or more", request.page_size()));
  }
  if (request.has_min_score() && std::isnan(request.min_score())) {
    return FieldError("min_score", "it is NaN; give a number, or leave it out");
  }
  ScoreQuery query;
  query.key = std::move(*key);
  if (request.has_start_time_ns()) {
    query.start_time_ns = request.start_time_ns();
  }
  if (request.has_end_time_ns()) query.end_time_ns = request.end_time_ns();
  if (request.has_min_score()) query.min_score = request.min_score();
  query.anomalies_only = request.anomalies_only();
  if (request.has_epoch()) query.epoch = request.epoch();
  query.limit = request.page_size() == 0
                    ? kDefaultPageSize
                    : std::min(request.page_size(), kMaxPageSize);
  if (!request.page_token().empty()) {
    const absl::StatusOr<ScoreCursor> cursor =
        ParsePageToken(request.page_token(), query);
    if (!cursor.ok()) return cursor.status();
    query.after = *cursor;
  }
  return query;
}

void FillPage(const ScoreQuery& query, const ScorePage& page,
              v1::ListScoresResponse& response) {
  size_t bytes = 0;
  for (const StoredScore& score : page.scores) {
    v1::StoredScore& proto = *response.add_scores();
    ToProto(score, proto);
    bytes += proto.ByteSizeLong();
    const bool last = &score == &page.scores.back();
    if (bytes > kMaxPageBytes && !last) {
      response.set_next_page_token(MakePageToken(
          query, {score.instant.time_ns, score.epoch, score.sequence}));
      return;
    }
  }
  if (page.next) {
    response.set_next_page_token(MakePageToken(query, *page.next));
  }
}

}  // namespace

grpc::ServerUnaryReactor* HistoryService::ListScores(
    grpc::CallbackServerContext* context, const v1::ListScoresRequest* request,
    v1::ListScoresResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::StatusOr<ScoreQuery> query = QueryFrom(*request);
  if (!query.ok()) {
    reactor->Finish(ToGrpcStatus(query.status()));
    return reactor;
  }
  store_.FindScores(*query, [query = *query, response,
                             reactor](const absl::StatusOr<ScorePage>& page) {
    if (page.ok()) FillPage(query, *page, *response);
    reactor->Finish(ToGrpcStatus(page.status()));
  });
  return reactor;
}

}  // namespace telltale::server
